internal import JSON

/// Member names, as UTF-8, once.
enum Name {
    static let state = Array("state".utf8)
    static let seq = Array("seq".utf8)
    static let since = Array("since".utf8)
    static let runID = Array("run_id".utf8)
    static let error = Array("error".utf8)
    static let code = Array("code".utf8)
    static let message = Array("message".utf8)
    static let status = Array("status".utf8)
    static let startedAt = Array("started_at".utf8)
    static let finishedAt = Array("finished_at".utf8)
    static let errorMessage = Array("error_message".utf8)
    static let content = Array("content".utf8)
    static let type = Array("type".utf8)
    static let timestamp = Array("timestamp".utf8)
    static let isFinal = Array("is_final".utf8)
    static let finishReason = Array("finish_reason".utf8)
    static let eventContext = Array("eventContext".utf8)
    static let runIDOfEvent = Array("runId".utf8)
    static let run = Array("run".utf8)
    static let birth = Array("birth".utf8)
    static let marked = Array("marked".utf8)
    static let end = Array("end".utf8)
    static let last = Array("last".utf8)
    static let at = Array("at".utf8)
    static let removed = Array("removed".utf8)
    static let old = Array("old".utf8)
    static let ends = Array("ends".utf8)
    static let arrival = Array("arrival".utf8)
    static let erased = Array("erased".utf8)
    static let epoch = Array("epoch".utf8)
    static let owner = Array("owner".utf8)
    static let serial = Array("serial".utf8)
    static let next = Array("next".utf8)
    static let cluster = Array("cluster".utf8)
    static let first = Array("first".utf8)
    static let count = Array("count".utf8)
}

/// Writes a JSON object member by member.
struct ObjectWriter {
    private var bytes: [UInt8]

    init(capacity: Int = 160) {
        bytes = []
        bytes.reserveCapacity(capacity)
        bytes.append(UInt8(ascii: "{"))
    }

    /// Adds a member whose name needs no escapes.
    mutating func add(_ name: [UInt8], _ json: [UInt8]) {
        key(name)
        bytes.append(contentsOf: json)
    }

    mutating func add(_ name: [UInt8], _ json: ArraySlice<UInt8>) {
        key(name)
        bytes.append(contentsOf: json)
    }

    mutating func add(_ name: [UInt8], _ value: Bool) {
        add(name, value ? JSONWord.true : JSONWord.false)
    }

    mutating func add(_ name: [UInt8], _ value: Int64) {
        key(name)
        bytes.appendDecimal(value)
    }

    mutating func add(_ name: [UInt8], text: [UInt8]) {
        key(name)
        bytes.appendJSONString(text)
    }

    mutating func add(_ name: [UInt8], text: String) {
        key(name)
        bytes.appendJSONString(text)
    }

    /// Adds a member of any name.
    mutating func add(anyName name: [UInt8], _ json: [UInt8]) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.appendJSONString(name)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: json)
    }

    var isEmpty: Bool { bytes.count == 1 }

    /// The object. Nothing is added any more.
    mutating func finish() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private mutating func key(_ name: [UInt8]) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: name)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }
}

/// JSON's words, and the values that the database resolves itself.
enum JSONWord {
    static let `true` = Array("true".utf8)
    static let `false` = Array("false".utf8)
    static let null = Array("null".utf8)
    static let serverTime = Array(#"{".sv":"timestamp"}"#.utf8)
}
