internal import CCurl

/// Why a request has no answer. Holds neither URL nor header nor body of it.
public struct HTTPError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What kind of failure.
    public enum Kind: String, Sendable {
        /// The request itself may not be sent.
        case invalidRequest = "invalid request"
        /// The host's name has no address.
        case dns = "DNS"
        /// No connection.
        case connect = "connect"
        /// No trust: certificate, host name, protocol version.
        case tls = "TLS"
        /// The time was up; the connection is not used again.
        case timeout = "timeout"
        /// The connection ended before the answer did.
        case reset = "connection lost"
        /// Header or body of the answer exceed their limits.
        case tooLarge = "answer too large"
        /// What came is not HTTP.
        case malformed = "malformed answer"
        /// Anything else, by curl's words.
        case other = "HTTP"
    }

    /// What kind of failure.
    public var kind: Kind
    /// What was wrong, in words.
    public var message: String

    /// Makes an error.
    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// `timeout: Operation timed out after 10001 milliseconds with 0 bytes received`.
    public var description: String { "\(kind.rawValue): \(message)" }
}

extension HTTPError.Kind {
    init(_ code: CURLcode) {
        self =
            switch code {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .dns
            case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: .connect
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
                CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR,
                CURLE_SSL_CRL_BADFILE, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_INVALIDCERTSTATUS,
                CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_USE_SSL_FAILED:
                .tls
            case CURLE_OPERATION_TIMEDOUT: .timeout
            case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE,
                CURLE_SSL_SHUTDOWN_FAILED, CURLE_SEND_FAIL_REWIND:
                .reset
            case CURLE_FILESIZE_EXCEEDED: .tooLarge
            case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING,
                CURLE_UNSUPPORTED_PROTOCOL:
                .malformed
            case CURLE_URL_MALFORMAT, CURLE_LOGIN_DENIED: .invalidRequest
            default: .other
            }
    }
}
