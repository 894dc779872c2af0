internal import Tree

/// The body of an error answer: `{"error" : "text"}` and a line feed, as the hosted database writes
/// it (with the space before the colon).
public func errorBody(_ message: String) -> [UInt8] {
    var body = Array("{\"error\" : ".utf8)
    body.append(json: .string(Array(message.utf8)))
    body.append(contentsOf: "}\n".utf8)
    return body
}
