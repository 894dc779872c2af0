internal import CSimdJSON

/// Parses texts into tapes; keeps its working memory from one text to the next.
///
/// Not to be shared between threads: each owner makes its own.
@safe
public final class JSONParser {
    private let parser: OpaquePointer
    /// The last tape's tokens. Where nobody keeps that tape, the next one takes their memory.
    private var spare: [JSONToken] = []
    private static let spareMax = 4096

    /// Makes a parser. Its memory grows to twice the longest text that it has met.
    public init() {
        guard let parser = unsafe fb_json_parser_new() else { fatalError("out of memory") }
        unsafe self.parser = parser
    }

    deinit { unsafe fb_json_parser_free(parser) }

    /// The tape of one text.
    ///
    /// - Parameter bytes: the text, UTF-8. A byte order mark before it is an error here: strip it.
    /// - Parameter depthMax: how deep arrays and objects may nest; 1 allows `[]` but not `[[]]`.
    public func parse(_ bytes: [UInt8], depthMax: Int = 512) throws(JSONError) -> JSONTape {
        let result = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe fb_json_parse(parser, buffer.baseAddress, buffer.count, UInt32(depthMax))
        }
        guard unsafe result.status == Int32(FB_JSON_OK.rawValue) else {
            let message = unsafe result.message.map { unsafe String(cString: $0) } ?? "not JSON"
            let tooDeep = unsafe result.status == Int32(FB_JSON_TOO_DEEP.rawValue)
            let offset = unsafe Int(result.offset)
            throw JSONError(
                kind: tooDeep ? .tooDeep : .malformed, message: message, offset: offset)
        }
        let count = unsafe Int(result.token_count)
        // JSONToken repeats the layout of fb_json_token, field by field.
        let tokens = unsafe UnsafeBufferPointer(
            start: UnsafeRawPointer(result.tokens!).assumingMemoryBound(to: JSONToken.self),
            count: count)
        guard count <= Self.spareMax else {
            return JSONTape(bytes: bytes, tokens: unsafe Array(tokens))
        }
        spare.removeAll(keepingCapacity: true)
        unsafe spare.append(contentsOf: tokens)
        return JSONTape(bytes: bytes, tokens: spare)
    }
}
