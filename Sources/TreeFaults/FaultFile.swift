public import JSON

/// What is wrong with a file of faults.
public struct FaultFileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Where, what was expected and what was found.
    public var description: String
}

extension FaultPlan {
    /// Reads `{"seed": 1, "writes_per_second": 1000, "write_bytes_per_minute": 67108864,
    /// "rules": [{…}]}`; every member may be absent. docs/tree.md tells a rule's.
    ///
    /// - Throws: the first thing that is wrong, with its place.
    public init(parsing bytes: [UInt8], with parser: JSONParser) throws(FaultFileError) {
        let tape: JSONTape
        do {
            tape = try parser.parse(bytes)
        } catch {
            throw FaultFileError(description: "expected JSON: \(error)")
        }
        self.init()
        let reader = FaultFileReader(tape: tape)
        for (name, value) in try reader.members(of: 0, "the file") {
            switch name {
            case "seed": seed = UInt64(try reader.integer(value, name, 0...))
            case "writes_per_second": writesPerSecond = Int(try reader.integer(value, name, 1...))
            case "write_bytes_per_minute":
                writeBytesPerMinute = Int(try reader.integer(value, name, 1...))
            case "rules":
                guard tape.kind(value) == .array else {
                    throw reader.error("rules", "an array", value)
                }
                for element in tape.elements(of: value) {
                    rules.append(try reader.rule(element, number: rules.count))
                }
            default:
                throw FaultFileError(
                    description: "\(name): expected seed, rules, writes_per_second or "
                        + "write_bytes_per_minute")
            }
        }
    }
}

/// Reads the values of a file, and says where one is not what it should be.
private struct FaultFileReader {
    let tape: JSONTape

    func rule(_ value: Int, number: Int) throws(FaultFileError) -> FaultRule {
        let at = "rules[\(number)]"
        var rule = FaultRule("rule \(number)", when: FaultCondition(), do: FaultAction())
        var reply = (
            status: Int?.none, headers: [(name: String, value: String)](), body: [UInt8]?.none
        )
        for (name, value) in try members(of: value, at) {
            let place = "\(at).\(name)"
            if try read(name, value, place, into: &rule.condition) { continue }
            if try read(name, value, place, into: &rule.action) { continue }
            switch name {
            case "name": rule.name = try text(value, place)
            case "status": reply.status = Int(try integer(value, place, 200...599))
            case "headers":
                for (name, value) in try members(of: value, place) {
                    reply.headers.append((name, try text(value, "\(place).\(name)")))
                }
            case "answer":
                reply.body =
                    tape.kind(value) == .string ? tape.text(value) : Array(tape.raw(value))
            default:
                throw FaultFileError(description: "\(place): there is no such member of a rule")
            }
        }
        if let status = reply.status {
            rule.action.reply = FaultAction.Reply(status, headers: reply.headers, body: reply.body)
        } else if reply.body != nil || !reply.headers.isEmpty {
            throw FaultFileError(description: "\(at): headers and answer need a status")
        }
        return rule
    }

    /// Whether it was a member of a condition.
    private func read(
        _ name: String, _ value: Int, _ place: String, into condition: inout FaultCondition
    ) throws(FaultFileError) -> Bool {
        switch name {
        case "method": condition.methods = [try text(value, place)]
        case "methods":
            for element in tape.elements(of: value) {
                condition.methods.append(try text(element, place))
            }
        case "path": condition.path = try text(value, place)
        case "agent": condition.agent = try text(value, place)
        case "body": condition.body = Array(try text(value, place).utf8)
        case "larger_than": condition.largerThan = Int(try integer(value, place, 0...))
        case "stream": condition.isStream = try flag(value, place)
        case "from_ms": condition.from = try integer(value, place, 0...)
        case "until_ms": condition.until = try integer(value, place, 0...)
        case "skip": condition.skip = Int(try integer(value, place, 0...))
        case "every": condition.every = Int(try integer(value, place, 1...))
        case "times": condition.times = Int(try integer(value, place, 0...))
        case "chance":
            guard tape.kind(value) == .number,
                let chance = Double(String(decoding: tape.raw(value), as: UTF8.self)),
                (0...1).contains(chance)
            else { throw error(place, "a number from 0 to 1", value) }
            condition.chance = chance
        default: return false
        }
        return true
    }

    /// Whether it was a member of an action.
    private func read(
        _ name: String, _ value: Int, _ place: String, into action: inout FaultAction
    ) throws(FaultFileError) -> Bool {
        switch name {
        case "delay_ms": action.delay = try integer(value, place, 0...86_400_000)
        case "jitter_ms": action.jitter = try integer(value, place, 0...86_400_000)
        case "hold_ms": action.hold = try integer(value, place, 0...86_400_000)
        case "apply": action.isApplied = try flag(value, place)
        case "bytes_per_second": action.bytesPerSecond = Int(try integer(value, place, 1...))
        case "cut":
            guard let cut = FaultAction.Cut(rawValue: try text(value, place)) else {
                throw error(place, "before, after or inside", value)
            }
            action.cut = cut
        default: return false
        }
        return true
    }

    func members(
        of value: Int, _ place: String
    ) throws(FaultFileError) -> [(name: String, value: Int)] {
        guard tape.kind(value) == .object else { throw error(place, "an object", value) }
        return tape.members(of: value).map {
            (String(decoding: tape.text($0.name), as: UTF8.self), $0.value)
        }
    }

    func integer(
        _ value: Int, _ place: String, _ range: some RangeExpression<Int64>
    ) throws(FaultFileError) -> Int64 {
        guard tape.kind(value) == .number, let number = tape.int64(value), range.contains(number)
        else { throw error(place, "a whole number in \(range)", value) }
        return number
    }

    private func text(_ value: Int, _ place: String) throws(FaultFileError) -> String {
        guard tape.kind(value) == .string else { throw error(place, "a text", value) }
        return String(decoding: tape.text(value), as: UTF8.self)
    }

    private func flag(_ value: Int, _ place: String) throws(FaultFileError) -> Bool {
        switch tape.kind(value) {
        case .true: true
        case .false: false
        default: throw error(place, "true or false", value)
        }
    }

    func error(_ place: String, _ expected: String, _ value: Int) -> FaultFileError {
        let found = String(decoding: tape.raw(value).prefix(40), as: UTF8.self)
        return FaultFileError(description: "\(place): expected \(expected), found \(found)")
    }
}
