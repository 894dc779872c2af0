import Oracle
import Testing
import Tree

@testable import TreeRules

/// Rules that say yes or no at random places, beside an oracle that looks at each place by itself.
@Suite("Where rules count") struct CascadeTests {
    /// What stands at one place: `[read, write, validate]`.
    private typealias Answers = [String: Bool]

    private struct Plan {
        /// By path of names and `$` variables, the root being empty.
        var places: [[String]: Answers] = [:]
        var text = ""
    }

    private func plan(
        _ random: inout SplitMix64, depth: Int, at path: [String], in plan: inout Plan
    ) {
        var members: [String] = []
        var answers: Answers = [:]
        for kind in [".read", ".write", ".validate"] where random.chance(1 / 3) {
            answers[kind] =
                random.chance(kind == ".validate" ? 1 / 4 : 1 / 3) == (kind != ".validate")
            members.append("\"\(kind)\":\(answers[kind] == true)")
        }
        plan.places[path] = answers
        if depth > 0 {
            for name in ["a", "b", "$\(depth)"] where random.chance(1 / 2) {
                var below = Plan()
                self.plan(&random, depth: depth - 1, at: path + [name], in: &below)
                members.append("\"\(name)\":\(below.text)")
                plan.places.merge(below.places) { $1 }
            }
        }
        plan.text = "{\(members.joined(separator: ","))}"
    }

    /// The rules' places on the way, as long as there are any.
    private func way(_ path: [String], in plan: Plan) -> [Answers] {
        var found = [plan.places[[]] ?? [:]]
        var place: [String] = []
        for name in path {
            let literal = place + [name]
            let variable = plan.places.keys.first {
                $0.count == literal.count && $0.dropLast() == place[...] && $0.last?.first == "$"
            }
            guard let next = plan.places[literal] != nil ? literal : variable else { break }
            place = next
            found.append(plan.places[place] ?? [:])
        }
        return found
    }

    /// Every path in a value, its own included.
    private func paths(in value: Value, at path: [String]) -> [[String]] {
        [path]
            + value.children.flatMap { key, child in
                paths(in: child, at: path + [String(decoding: key.bytes, as: UTF8.self)])
            }
    }

    @Test("A grant counts for all below it; validity counts everywhere", arguments: 0..<30)
    func cascade(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        for _ in 0..<20 {
            var plan = Plan()
            self.plan(&random, depth: 3, at: [], in: &plan)
            let rules = try Rules(Array("{\"rules\":\(plan.text)}".utf8))
            for _ in 0..<20 {
                let names = (0..<Int.random(in: 0...4, using: &random)).map { _ in
                    random.pick(["a", "b", "c"])
                }
                let path = Path(segments: names.map { Array($0.utf8) })
                #expect(
                    rules.mayRead(path, auth: .null, now: 0, in: Tree())
                        == way(names, in: plan).contains { $0[".read"] == true })
                let value: Value = random.pick([
                    .null, 1, ["a": 1], ["b": ["a": 1, "c": 2]], ["c": ["b": ["b": true]]],
                ])
                let isGranted = way(names, in: plan).contains { $0[".write"] == true }
                let isValid =
                    value.isNull
                    || paths(in: value, at: names).allSatisfy { place in
                        way(place, in: plan).allSatisfy { $0[".validate"] != false }
                    }
                #expect(
                    rules.mayWrite(
                        Update(path: path, value: value), auth: .null, now: 0, in: Tree())
                        == (isGranted && isValid), "\(plan.text) \(path) \(value)")
            }
        }
    }
}
