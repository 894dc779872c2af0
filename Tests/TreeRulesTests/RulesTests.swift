import Testing
import Tree

@testable import TreeRules

@Suite("Rules") struct RulesTests {
    private func rules(_ text: String) throws -> Rules {
        try Rules(Array("{\"rules\":\(text)}".utf8))
    }

    private func issues(_ text: String) -> [String] {
        do {
            _ = try Rules(Array(text.utf8))
            return []
        } catch {
            return error.issues.map { "Line \($0.line): \($0.message)" }
        }
    }

    private func write(
        _ rules: Rules, _ writes: [(String, Value)], auth: Value = .null, in data: Value = .null,
        now: Int64 = 1000
    ) throws -> Bool {
        let update = try Update(writes.map { Update.Write(path: Path($0.0.utf8), value: $0.1) })
        return rules.mayWrite(update, auth: auth, now: now, in: Tree(data))
    }

    private func read(
        _ rules: Rules, _ path: String, auth: Value = .null, in data: Value = .null
    ) -> Bool {
        let grant = rules.readGrant(Path(path.utf8), auth: auth, now: 1000, in: Tree(data))
        let plain = rules.mayRead(Path(path.utf8), auth: auth, now: 1000, in: Tree(data))
        #expect((grant != nil) == plain)
        return plain
    }

    @Test("Nothing is allowed that no rule allows")
    func empty() throws {
        let rules = try rules("{}")
        #expect(!read(rules, "/"))
        #expect(!read(rules, "/a/b"))
        #expect(try !write(rules, [("a", 1)]))
        #expect(try !write(rules, [("/", nil)]))
    }

    @Test("A grant holds for all below, and nothing below takes it away")
    func cascade() throws {
        let rules = try rules(
            #"{"a":{".read":true,".write":"auth != null","b":{".read":false,".write":false}}}"#)
        #expect(!read(rules, "/"))
        #expect(read(rules, "/a") && read(rules, "/a/b") && read(rules, "/a/b/c/d"))
        #expect(!read(rules, "/c"))
        #expect(try write(rules, [("a/b/c", 1)], auth: ["uid": "me"]))
        #expect(try !write(rules, [("a/b/c", 1)]))
        #expect(try !write(rules, [("/", ["a": 1])], auth: ["uid": "me"]))
    }

    @Test("A named child hides the $ variable beside it, also where its own rules end")
    func namedChild() throws {
        let rules = try rules(#"{"named":{"x":{".read":true}},"$any":{".read":"$any != 'no'"}}"#)
        #expect(read(rules, "/other/y"))
        #expect(!read(rules, "/no"))
        #expect(!read(rules, "/named/y"))
        #expect(read(rules, "/named/x"))
    }

    @Test("data is what stands at the rule's own place")
    func dataAtTheRule() throws {
        let rules = try rules(
            #"{"$user":{".read":"data.child('public').val() === true","name":{".read":"data.val() == 'x'"}}}"#
        )
        let data: Value = ["ann": ["public": true], "bob": ["name": "x"]]
        #expect(read(rules, "/ann/anything/below", in: data))
        #expect(!read(rules, "/bob", in: data))
        #expect(read(rules, "/bob/name", in: data))
    }

    @Test("newData is the database as the whole update leaves it, data and root as it was")
    func newData() throws {
        let rules = try rules(
            #"""
            {"posts":{"$id":{".write":"newData.parent().parent().child('index/' + $id).val() === true && !data.exists() && !root.hasChild('index/' + $id)"}},
             "index":{"$id":{".write":"newData.parent().parent().hasChild('posts/' + $id)"}}}
            """#)
        #expect(try write(rules, [("posts/1", "a"), ("index/1", true)]))
        #expect(try !write(rules, [("posts/1", "a")]))
        #expect(try !write(rules, [("index/1", true)]))
        #expect(try !write(rules, [("posts/1", "a"), ("index/1", false)]))
        #expect(try !write(rules, [("posts/1", "a"), ("index/2", true)]))
        let data: Value = ["posts": ["1": "a"], "index": ["1": true]]
        #expect(try !write(rules, [("posts/1", "b"), ("index/1", true)], in: data))
        // A leaf below, merged with what is there.
        let merged = try self.rules(
            #"{"a":{".write":"newData.child('x').val() + newData.child('y').val() == 3"}}"#)
        #expect(try write(merged, [("a/y", 2)], in: ["a": ["x": 1, "y": 1]]))
        #expect(try !write(merged, [("a/y", 1)], in: ["a": ["x": 1, "y": 1]]))
    }

    @Test("One path that is refused refuses the whole update")
    func allOrNothing() throws {
        let rules = try rules(#"{"a":{".write":true},"b":{".write":false}}"#)
        #expect(try write(rules, [("a/x", 1), ("a/y", 2)]))
        #expect(try !write(rules, [("a/x", 1), ("b/y", 2)]))
    }

    static let widget = #"""
        {"widget":{".write":true,".validate":"newData.hasChildren(['color', 'size'])",
          "size":{".validate":"newData.isNumber() && newData.val() >= 0 && newData.val() <= 99"},
          "color":{".validate":"root.child('valid_colors/' + newData.val()).exists()"},
          "tags":{"$tag":{".validate":"$tag.matches(/^[a-z]+$/)"}}}}
        """#

    @Test(
        ".validate holds at what is written, above it and below it; a removal needs none",
        arguments: [
            ([("widget", nil)], true), ([("widget", "foo")], false),
            ([("widget", ["size": 22])], false),
            ([("widget", ["size": "foo", "color": "red"])], false),
            ([("widget", ["size": 21, "color": "blue"])], true),
            ([("widget", ["size": 21, "color": "pink"])], false),
            ([("widget/size", 99)], false), ([("widget/size", 9), ("widget/color", "red")], true),
            ([("widget/size", 9), ("widget/color", nil)], false), ([("widget/size", nil)], true),
            ([("widget", ["size": 1, "color": "red", "tags": ["a": 1]])], true),
            ([("widget", ["size": 1, "color": "red", "tags": ["a": 1, "B": 2]])], false),
            ([("widget", ["size": 1, "color": "red", "other": ["a": 1, "B": 2]])], true),
        ] as [([(String, Value)], Bool)])
    func validation(writes: [(String, Value)], expected: Bool) throws {
        let data: Value = ["valid_colors": ["red": true, "blue": true]]
        #expect(try write(rules(Self.widget), writes, in: data) == expected)
    }

    @Test("A leaf of a valid node may be changed, and is checked with the rest of it")
    func validationAbove() throws {
        let data: Value = [
            "valid_colors": ["red": true], "widget": ["size": 1, "color": "red"],
        ]
        #expect(try write(rules(Self.widget), [("widget/size", 99)], in: data))
        #expect(try !write(rules(Self.widget), [("widget/size", 100)], in: data))
        #expect(try write(rules(Self.widget), [("widget/tags/a", 1)], in: data))
        #expect(try !write(rules(Self.widget), [("widget/tags/A/b/c", 1)], in: data))
    }

    @Test(".validate alone grants nothing")
    func validateGrantsNothing() throws {
        #expect(try !write(rules(#"{".validate":true}"#), [("a", 1)]))
    }

    @Test("now is the time of the request")
    func now() throws {
        let rules = try rules(#"{"at":{".write":"newData.val() === now"}}"#)
        #expect(try write(rules, [("at", 1000)], now: 1000))
        #expect(try !write(rules, [("at", 1001)], now: 1000))
    }

    @Test("A grant tells what it was decided by")
    func grants() throws {
        let rules = try rules(
            #"{"c":{"$c":{".read":"root.child('members/' + $c).child(auth.uid).val() === true"}}}"#)
        let tree = Tree(["members": ["x": ["ann": true]]])
        let grant = rules.readGrant("c/x/y", auth: ["uid": "ann"], now: 1, in: tree)
        #expect(grant?.lookedAt == ["members/x/ann"])
        #expect(grant?.usesNow == false)
        #expect(rules.readGrant("c/x/y", auth: ["uid": "bob"], now: 1, in: tree) == nil)
        let timed = try self.rules(#"{".read":"now < 1000"}"#)
        #expect(timed.readGrant("c", auth: .null, now: 1, in: tree)?.usesNow == true)
    }

    @Test("Indexes are found by place, $ variables included")
    func indexes() throws {
        let rules = try rules(
            #"{"dinos":{".indexOn":["height","dimensions/length"]},"$x":{"scores":{".indexOn":".value"}}}"#
        )
        #expect(
            rules.indexes(at: "dinos").map { String(decoding: $0, as: UTF8.self) } == [
                "height", "dimensions/length",
            ])
        #expect(rules.indexes(at: "a/scores") == [Array(".value".utf8)])
        #expect(rules.indexes(at: "dinos/x") == [])
    }

    @Test("Comments, line breaks in strings and a byte order mark are read; strict form has none")
    func comments() throws {
        let text =
            "\u{FEFF}{ // rules\n \"rules\": { /* all\n of \"them\" */ \".read\": \"auth !=\n null // no comment\" } }"
        #expect(issues(text) == [])
        let strict = String(decoding: try Rules(Array(text.utf8)).strict, as: UTF8.self)
        #expect(strict == #"{"rules":{".read":"auth !=\n null // no comment"}}"#)
        #expect(issues(strict) == [])
        let slashes = #"{"rules":{".read":"\"//\" == null"}}"#
        #expect(try Rules(Array(slashes.utf8)).strict == Array(slashes.utf8))
    }

    @Test("What is wrong is told with its line and text, all of it at once")
    func errors() {
        #expect(issues("") == ["Line 1: Expected a value, found the end"])
        #expect(issues("{\n \"rules\": {\n }\n") == ["Line 4: Expected ',' or '}', found the end"])
        #expect(
            issues("{\"rules\": {}, \"x\": 1}") == [
                "Line 1: Unknown key 'x': only 'rules' stands here"
            ])
        #expect(
            issues("[]") == ["Line 1: Expected an object with the 'rules' property, found an array"]
        )
        #expect(issues("{}").count == 1)
        #expect(
            issues("{\"rules\":1}") == [
                "Line 1: Expected the rules of / as an object, found a number"
            ])
        let text = """
            {
              "rules": {
                ".reed": true,
                "a": { ".read": "auht.uid == 1", ".write": 7 },
                "$x": { "$x": {}, "b.c": {} },
                "$y": { ".indexOn": [1] },
                "d": { ".write": "newData.foo() || query.orderByKey" },
                "e": null
              }
            }
            """
        #expect(
            issues(text) == [
                "Line 3: Unknown rule '.reed': expected .read, .write, .validate or .indexOn",
                "Line 4: Unknown variable 'auht'. In .read of /a: auht.uid == 1",
                "Line 4: Expected '.write' to be a boolean or an expression in a string, found a number",
                "Line 5: Variable '$x' stands above already",
                "Line 5: Key 'b.c' cannot be in a database: it is empty, too long or holds one of . # $ [ ] /",
                "Line 6: Only one $ variable may stand at /",
                "Line 6: Expected '.indexOn' to be a string or a list of strings, found a number",
                "Line 7: No such method 'foo' of a RuleDataSnapshot. In .write of /d: newData.foo() || query.orderByKey",
                "Line 8: Expected the rules of /e as an object, found null",
            ])
        let (open, close) = (
            String(repeating: "{\"a\":", count: 50_000), String(repeating: "}", count: 50_000)
        )
        #expect(issues("{\"rules\":\(open){}\(close)}") == ["Line 1: Rules are nested too deeply"])
        #expect(issues("{\"rules\":{\"a\":{},\"a\":{}}}") == ["Line 1: Key 'a' appears twice"])
    }

    @Test("As in the hosted database, a comma after the last member and comments in rules pass")
    func leniency() throws {
        let text = """
            {
              "rules": {
                "games": {
                  ".indexOn": ["a", "b",],
                  ".validate": "
                    // only whole ones
                    newData.hasChildren(['name', 'age',]) /* both */ &&
                    newData.child('age').val() > 0
                  ",
                  ".write": true,
                },
              },
            }
            """
        let rules = try Rules(Array(text.utf8))
        #expect(try write(rules, [("games", ["name": "x", "age": 1])]))
        #expect(try !write(rules, [("games", ["name": "x"])]))
        #expect(try Rules(rules.strict).indexes(at: "games").count == 2)
        #expect(issues("{\"rules\":{,}}") == ["Line 1: Expected a key in quotes or '}', found ','"])
    }

    @Test("A column is that of the text, escapes before it or not")
    func columns() {
        do {
            _ = try Rules(Array(#"{"rules":{".read":"'\u0041\"' == foo"}}"#.utf8))
            Issue.record("accepted")
        } catch {
            #expect(error.issues.map(\.column) == [34])
            #expect(
                error.description.hasPrefix("Line 1:34: Unknown variable 'foo'. In .read of /: "))
        }
    }
}
