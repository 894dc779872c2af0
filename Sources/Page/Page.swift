/// The page at a tree's address: which of its files a request asks for, and under which policy a
/// browser may show it.
///
/// Its files lie below `/.page/`, and no name there ends in `.json`: such a path cannot be one of
/// the database.
public struct Page: Sendable {
    /// Whose page it is.
    public enum Mode: String, Sendable {
        /// A tree's: nodes and conversations.
        case tree
        /// The demo's: with the bridge's figures and the controls.
        case demo
    }

    private let index: PageFile

    /// The page for a tree or for the demo.
    public init(_ mode: Mode) {
        let file = PageFile.embedded.first { $0.name == "index.html" }!
        // The page learns it without asking, so that no request has to fail.
        index = PageFile(
            name: file.name,
            bytes: Array(
                String(decoding: file.bytes, as: UTF8.self)
                    .replacing("data-mode=\"tree\"", with: "data-mode=\"\(mode.rawValue)\"").utf8))
    }

    /// The answer to a request for the page or one of its files; nil where it is for the tree.
    ///
    /// - Parameter target: path and query as they stand in the request line.
    /// - Parameter accept: `Accept`. Who does not ask for HTML at `/` is no browser.
    /// - Parameter knownTag: `If-None-Match`.
    public func answer(
        method: String, target: [UInt8], accept: String?, knownTag: String?
    ) -> PageAnswer? {
        let path = String(decoding: target.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
        guard method == "GET" || method == "HEAD" else { return nil }
        if path == "/" {
            guard accept?.lowercased().contains("text/html") == true else { return nil }
            return show(index, knownTag)
        }
        guard path.hasPrefix(Self.folder), !path.hasSuffix(".json") else { return nil }
        let name = path.dropFirst(Self.folder.count)
        guard let file = PageFile.embedded.first(where: { $0.name == name }), name != index.name
        else { return PageAnswer(404, "text/plain; charset=utf-8", Array("no such file\n".utf8)) }
        return show(file, knownTag)
    }

    private func show(_ file: PageFile, _ knownTag: String?) -> PageAnswer {
        var answer = PageAnswer(200, file.type, file.bytes)
        answer.headers += [("ETag", file.tag), ("Content-Security-Policy", Self.policy)]
        if file.name == index.name { answer.headers.append(("Vary", "Accept")) }
        if knownTag == file.tag {
            answer.status = 304
            answer.body = []
        }
        return answer
    }

    private static let folder = "/.page/"

    /// Nothing from elsewhere, nothing in line, no text that becomes markup or code; the one
    /// exception is the address of the page's own worker.
    static let policy = [
        "default-src 'none'", "script-src 'self'", "worker-src 'self'", "style-src 'self'",
        "img-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
        "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types firebridge-worker",
    ].joined(separator: "; ")
}

/// An answer with all of its headers but the length.
public struct PageAnswer: Sendable {
    /// The HTTP status.
    public var status: Int
    /// Names and values.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: [UInt8]

    /// Makes an answer that no other site may read or show.
    init(_ status: Int, _ type: String, _ body: [UInt8]) {
        self.status = status
        self.body = body
        headers = [
            ("Content-Type", type), ("Cache-Control", "no-cache"),
            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ]
    }
}
