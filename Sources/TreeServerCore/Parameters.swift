internal import Tree
internal import TreeWire

/// The parameters of a request, checked. What is not known is ignored, as the database does.
struct Parameters {
    enum Print { case compact, pretty, silent }

    var print = Print.compact
    var shallow = false
    var export = false
    var download: String?
    var callback: [UInt8]?
    var query: Query?
    /// For `shallow`: the key after which the view begins, and how many keys it has at most.
    var shallowAfter: [UInt8]?
    var shallowLimit: Int?

    init(_ target: RESTTarget) throws(Refusal) {
        let value = target.parameter
        let text = { (name: String) in value(name).map { String(decoding: $0, as: UTF8.self) } }
        switch text("print") {
        case nil: break
        case "pretty": print = .pretty
        case "silent": print = .silent
        case let other?:
            throw Refusal(400, "print must be 'pretty' or 'silent', found '\(other)'")
        }
        shallow = try Self.flag("shallow", text("shallow"))
        if let format = text("format") {
            guard format == "export" else {
                throw Refusal(400, "format must be 'export', found '\(format)'")
            }
            export = true
        }
        download = text("download")
        callback = value("callback")
        try Self.check(timeout: text("timeout"))
        try Self.check(writeSizeLimit: text("writeSizeLimit"))
        if shallow {
            try readShallow(target)
        } else {
            query = try Query(target)
        }
    }

    /// `shallow` goes with `limitToFirst` and a raw key in `startAfter`, as the tools page; with no
    /// other query.
    private mutating func readShallow(_ target: RESTTarget) throws(Refusal) {
        for name in Query.names where name != "limitToFirst" && name != "startAfter" {
            guard target.parameter(name) == nil else {
                throw Refusal(400, "Mixing 'shallow' and querying parameters is not supported")
            }
        }
        shallowAfter = target.parameter("startAfter")
        if let limit = target.parameter("limitToFirst") {
            shallowLimit = try Query.limit("limitToFirst", limit)
        }
    }

    private static func flag(_ name: String, _ text: String?) throws(Refusal) -> Bool {
        switch text {
        case nil, "false": return false
        case "true": return true
        case let other?:
            throw Refusal(400, "\(name) must be 'true' or 'false', found '\(other)'")
        }
    }

    /// The limits hold by themselves here: an answer in memory takes no time to speak of. A
    /// malformed one is refused all the same.
    private static func check(timeout: String?) throws(Refusal) {
        guard let timeout else { return }
        let units = ["ms": 1, "s": 1000, "min": 60_000]
        let digits = timeout.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits), let unit = units[String(timeout.dropFirst(digits.count))],
            number <= 15 * 60_000 / unit
        else {
            throw Refusal(400, "timeout must be like 3ms, 3s or 3min, at most 15min")
        }
    }

    private static func check(writeSizeLimit: String?) throws(Refusal) {
        guard let writeSizeLimit else { return }
        guard ["tiny", "small", "medium", "large", "unlimited"].contains(writeSizeLimit) else {
            throw Refusal(
                400, "writeSizeLimit must be tiny, small, medium, large or unlimited")
        }
    }

    /// How values are written.
    var style: JSONStyle {
        JSONStyle(arrays: !export, pretty: print == .pretty, priorities: export)
    }
}
