internal import JSON
internal import Tree
internal import TreeWire

/// A request that is answered with an error.
struct Refusal: Error {
    var response: TreeResponse
    var message: String
    var cause: Cause

    /// Why, as far as sessions tell it apart.
    enum Cause {
        case denied, tooBig, invalid
    }

    init(_ status: Int, _ message: String, _ cause: Cause = .invalid) {
        response = TreeResponse(status, errorBody(message))
        self.message = message
        self.cause = cause
    }

    static let permissionDenied = Refusal(401, "Permission denied", .denied)
    static let tooBig = Refusal(
        400, "Data to write exceeds the maximum size that can be modified with a single request.",
        .tooBig)
    static let tooMuchRead = Refusal(
        400, "Data requested exceeds the maximum size that can be accessed with a single request.",
        .tooBig)
    static let notJSON = Refusal(
        400, "Invalid data; couldn't parse JSON object, array, or value.")
    static let noData = Refusal(400, "Error: No data supplied.")
    static let queryOnWrite = Refusal(
        400, "Querying related parameters not supported on this request type")
    static let mixedConditional = Refusal(
        400,
        "Mixing 'shallow', querying parameters or 'print=silent' and if-match or if-none-match "
            + "requests is not supported")

    static func badKey(_ body: [UInt8], at offset: Int) -> Refusal {
        let (line, column) = position(of: offset, in: body)
        return Refusal(
            400,
            "Invalid data; couldn't parse key beginning at \(line):\(column). "
                + "Key value can't be empty or contain $ # [ ] / or .")
    }

    /// What a body that cannot be stored is answered with.
    init(_ error: ValueError, in body: [UInt8], limits: TreeLimits) {
        let (line, column) = position(of: error.offset, in: body)
        let place = "at \(line):\(column)"
        switch error.kind {
        case .key: self = .badKey(body, at: error.offset)
        case .keyTooLong:
            self.init(400, "Invalid data; key \(place) is longer than \(limits.keyBytesMax) bytes.")
        case .tooDeep:
            self.init(400, "Invalid data; \(place) it is deeper than \(limits.depthMax) levels.")
        case .stringTooLong:
            self.init(
                400, "Invalid data; string \(place) is longer than \(limits.stringBytesMax) bytes.")
        case .number: self.init(400, "Invalid data; number \(place) does not fit a double.")
        case .serverValue: self.init(400, "Invalid data; unknown server value \(place).")
        case .priority:
            self.init(
                400, "Invalid data; .priority \(place) must be a number, a string or null.")
        case .exportForm:
            self.init(400, "Invalid data; .value \(place) must be a leaf without siblings.")
        }
    }
}

/// Line and column, from 1, of a byte.
private func position(of offset: Int, in text: [UInt8]) -> (line: Int, column: Int) {
    let before = text.prefix(offset)
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return (line, before.count - start + 1)
}
