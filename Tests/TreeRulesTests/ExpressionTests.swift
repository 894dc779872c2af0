import Testing
import Tree

@testable import TreeRules

/// What an expression does as a `.read` rule at the root: what the hosted database was seen to do.
enum Verdict: Equatable {
    case yes, no
    /// False because it has no value: so is the rule `(expression) || true`.
    case fails
    /// Refused when the rules are loaded.
    case invalid
}

func verdict(
    _ expression: String, auth: Value = .null, data: Value = .null,
    wildcards: [(String, String)] = [], query: RuleQuery = RuleQuery(), now: Int64 = 1000
) -> Verdict {
    func read(_ expression: String) -> Bool? {
        let text = expression.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let open = wildcards.map { "\"\($0.0)\":{" }.joined()
        let close = String(repeating: "}", count: wildcards.count)
        let rules = "{\"rules\":{\(open)\".read\":\"\(text)\"\(close)}}"
        guard let rules = try? Rules(Array(rules.utf8)) else { return nil }
        let path = Path(segments: wildcards.map { Array($0.1.utf8) })
        return rules.mayRead(path, query: query, auth: auth, now: now, in: Tree(data))
    }
    switch read(expression) {
    case nil: return .invalid
    case true?: return .yes
    case false?: return read("(\(expression)) || true") == true ? .no : .fails
    }
}

@Suite("Expressions") struct ExpressionTests {
    static let bob: Value = [
        "foo": ["bar": true], "provider": "custom", "someBool": true, "someInt": 1,
        "someString": "one", "uid": "custom:bob",
    ]

    @Test(
        "Operators, properties and methods are as in the hosted database",
        arguments: [
            ("1 < 2", .yes), ("true", .yes), ("'foo'.contains('o')", .yes),
            ("1 + 2 * 3 === 7 && (1 + 2) * 3 === 9 && 7 - 2 - 1 === 4", .yes),
            ("true || false && false", .yes), ("!false && !!true", .yes),
            ("false ? false : true ? true : false", .yes),
            ("-1 < 0 && - -1 == 1 && 1 - -1 == 2", .yes),
            ("0x10 == 16 && 1e2 == 100 && .5 == 0.5 && 1. == 1", .yes),
            ("7 % 3 == 1 && -7 % 3 == -1 && 7.5 % 2 == 1.5", .yes),
            ("7 / 2 == 3.5 && 8 / 2 == 4", .yes), ("(1/0) > 2", .no), ("(1/0) < 2", .no),
            ("(1/0 + '') == 'NaN'", .yes), ("1 % 0 == 1 % 0", .no),
            ("9007199254740993 == 9007199254740992", .no),
            ("9223372036854775807 + 1 > 9223372036854775807", .no),
            ("'a' < 'b' && 'b' > 'a' && 'a' <= 'a' && 'Z' < 'a'", .yes),
            ("'a' + 1 + 2 == 'a12' && 1 + 2 + 'a' == '3a' && 1.5 + '' == '1.5'", .yes),
            (#"'a\'b' == "a'b" && '\u00e9\x41\n' == 'éA' + "\n""#, .yes),
            ("'é'.length == 1 && '😀'.length == 2 && ''.length == 0", .yes),
            ("'abcabc'.replace('b', 'xy') == 'axycaxyc' && 'a'.replace('', 'x') == 'a'", .yes),
            ("'ÉA'.toLowerCase() == 'éa' && 'straße'.toUpperCase() == 'STRASSE'", .yes),
            ("'abc'.beginsWith('ab') && 'abc'.endsWith('bc') && !'abc'.contains('ac')", .yes),
            ("'foo'['length'] == 3", .yes), ("1 // one\n == /* 1 */ 1", .yes),
            ("8 /2/ 2 == 2", .yes),
            ("!root.hasChildren(['a', 'b',])", .yes), ("'foo'['contains']('o')", .yes),
            ("root[\"exists\"]() == false", .yes), ("root[\"doesNotExist\"]() == true", .invalid),
            ("root[\"exi\" + \"sts\"]() == false", .invalid), ("root.parent().exists()", .fails),
            ("root.isBoolean()", .no), ("root.hasChildren()", .no),
            ("root.hasChildren(['foo', 'bar'])", .no), ("root.getPriority() === null", .yes),
            ("now === 1000", .yes), ("null == null && true != false && 'a' !== 'b'", .yes),
            ("1 === 1.0", .yes), ("1 == '1'", .no), ("true == 1", .no), ("null == false", .no),
        ] as [(String, Verdict)])
    func values(expression: String, expected: Verdict) {
        #expect(verdict(expression) == expected)
    }

    @Test(
        "What is no boolean expression of the language is refused",
        arguments: [
            "", "7", "'foo'", "null", "now", "root", "var foo = 8", "root = 5", "true; false",
            "auth.someString === 'one' ? 7 : true", "auth.foo.contains(7)", "skies === 'blue'",
            "$color == 'red'", "root.hasChildren('foo', 'bar')", "root.hasChildren(['foo', 7])",
            "root.hasChildren([])", "root.hasChildren([,])", "true /* ", "// true",
            "root.child('str').val().matches('/foo/')",
            "auth.foo.notFound() == false", "root.val().notFound == false",
            "root.child('foo') != null", "root.val() > true", "root.val() < true", "1 < 'a'",
            "(2**2) == 4", "root.child('foo').val().matches(/bar/ig)", "'a' - 1 == 0",
            "auth.someString[\"doesNotContain\"](\"on\") == false", "query.foo == 1",
            "newData.exists()", "1 + true == 2", "!1", "-'a' == 1", "1 && true", "true || 'a'",
            "[1] == [1]", "/a/ == /a/", "root.child()", "root.child('a', 'b').exists()",
            "root.exists('a')", "'abc'.contains", "'abc'.foo", "(true", "true)", "'abc",
            "true true", "@", "a.b", "root.child(1).exists()", "data.val()[0] == 1",
            "undefined == null", "this == null", "auth.uid = 'a'", "1 + 1", "5px == 5", "0x == 0",
            "true ? root : null", "root.", "root[", "auth.uid in ['a']", "typeof auth == 'a'",
            "root.val().matches(/a/, /b/)", "root.matches(/a/)", "(1)(2)", "'a'.length()",
        ])
    func invalid(expression: String) {
        #expect(verdict(expression) == .invalid)
    }

    @Test(
        "auth is open: what it lacks is null, and null has no methods",
        arguments: [
            ("auth !== null", .no, .yes), ("auth.uid !== 'eviluser'", .yes, .yes),
            ("auth.someInt < 5", .fails, .yes), ("auth.provider === 'custom'", .no, .yes),
            ("auth.contains('75')", .fails, .fails),
            ("auth.notfound.contains('75')", .fails, .fails),
            ("auth.not.found.length > 0", .fails, .fails), ("auth.not.found == null", .yes, .yes),
            ("auth.foo.bar == true", .no, .yes), ("auth.foo['bar'] == true", .no, .yes),
            ("auth['foo']['b' + 'ar'] == true", .no, .yes), ("auth.foo.baz == null", .yes, .yes),
            ("auth.isTernary === true ? root.child('x').exists() : true", .yes, .yes),
            ("root.child(auth.someString.toUpperCase()).val() === null", .fails, .yes),
            ("root.hasChildren([auth.uid])", .fails, .no),
            ("root.child('users/' + auth.uid).exists()", .fails, .no),
            ("root.child(auth.foo).exists()", .fails, .fails),
            ("'foo1'.contains(auth.someInt)", .fails, .fails),
            ("'foobar'.replace('bar', auth.someInt) == 'foo1'", .fails, .fails),
            ("-auth.someString == -1", .fails, .fails), ("!(auth.foo == null)", .no, .yes),
            ("(auth.someInt + 1) == 2", .fails, .yes), ("(auth.someString + 1) == 2", .fails, .no),
            ("(1 + auth.someBool) == 2", .fails, .fails), ("auth.someInt / 2 == 0.5", .fails, .yes),
            ("(1 % auth.someInt) == 1", .fails, .no), ("'foo' > auth.foo", .fails, .fails),
            ("auth.someInt == 'one'", .no, .no), ("auth.someInt != 'one'", .yes, .yes),
            ("auth.none == auth.none2", .yes, .yes), ("auth.someBool", .fails, .yes),
            ("auth.someString", .fails, .fails), ("!auth.someBool", .fails, .no),
            ("auth.dreams.length > 1 ? false : true", .fails, .fails),
            ("auth.someString[\"contains\"](\"on\") == true", .fails, .yes),
            ("true || auth.foo.contains('a')", .yes, .yes),
            ("false && auth.foo.contains('a')", .no, .no),
            ("auth.foo == auth.foo && auth == auth", .yes, .yes), ("auth.foo == 'x'", .no, .no),
            ("auth.someString.uid == null", .fails, .fails),
        ] as [(String, Verdict, Verdict)])
    func authentication(expression: String, withoutAuth: Verdict, withAuth: Verdict) {
        // `auth.someString.uid`: of null it is null.
        let expected = expression == "auth.someString.uid == null" ? .yes : withoutAuth
        #expect(verdict(expression) == expected)
        #expect(verdict(expression, auth: Self.bob) == withAuth)
    }

    @Test(
        "Snapshots show what stands in the database",
        arguments: [
            ("root.child('a/b').val() === 1", .yes), ("root.child('a').child('b').exists()", .yes),
            ("root.child('a').parent().child('s').val() == 'text'", .yes),
            ("root.hasChild('a/b') && !root.hasChild('a/c')", .yes),
            ("root.hasChildren(['a', 'a/b', 's']) && !root.hasChildren(['a', 'z'])", .yes),
            ("root.hasChildren() && !root.child('s').hasChildren()", .yes),
            ("root.child('a/b').isNumber() && root.child('s').isString()", .yes),
            ("root.child('t').isBoolean() && !root.child('a').isString()", .yes),
            ("root.child('a').val() != null && root.child('z').val() == null", .yes),
            ("root.child('s').val().length == 4 && root.child('s').val().matches(/^te/)", .yes),
            ("root.child('a').val() == root.child('a2').val()", .yes),
            ("root.child('a').val().contains('b')", .fails), ("root.child('z').val() > 1", .fails),
            ("root.child('banned/bob@example.com').val() != true", .yes),
            ("root.child('d').val() == 1.5 && root.child('d').isNumber()", .yes),
            ("root.child('x').exists()", .no), ("root.child('').exists()", .yes),
            ("data.child('s').val() == root.child('s').val()", .yes),
            ("root.child('t').val()", .yes), ("root.child('s').val()", .fails),
        ] as [(String, Verdict)])
    func snapshots(expression: String, expected: Verdict) {
        let data: Value = [
            "a": ["b": 1], "a2": ["b": 1], "s": "text", "t": true, "d": 1.5,
        ]
        #expect(verdict(expression, data: data) == expected)
    }

    @Test("$ variables are the names on the way")
    func wildcards() {
        let way = [("$a", "x"), ("$b", "y")]
        #expect(verdict("$a == 'x' && $b == 'y' && $a + $b == 'xy'", wildcards: way) == .yes)
        #expect(verdict("root[$a]() == false", wildcards: way) == .invalid)
        #expect(verdict("auth.foo[$a] == 1", auth: ["foo": ["x": 1]], wildcards: way) == .yes)
        #expect(verdict("$c == 'x'", wildcards: way) == .invalid)
    }

    @Test("query is what the read asks for")
    func queries() {
        #expect(
            verdict("query.orderByKey && !query.orderByValue && query.orderByPriority == false")
                == .yes)
        #expect(verdict("query.orderByChild == null && query.startAt == null") == .yes)
        #expect(verdict("query.limitToFirst == null && query.limitToLast == null") == .yes)
        #expect(verdict("query.limitToFirst <= 10") == .fails)
        var query = RuleQuery()
        query.order = .child(Array("a/b".utf8))
        query.equalTo = "me"
        query.limitToLast = 10
        let owner = "query.orderByChild == 'a/b' && query.equalTo == auth.uid"
        #expect(verdict(owner, auth: ["uid": "me"], query: query) == .yes)
        #expect(verdict(owner, auth: ["uid": "you"], query: query) == .no)
        #expect(verdict("query.limitToLast <= 10 && !query.orderByKey", query: query) == .yes)
    }

    @Test("Depth and length have limits, chains of && and || none")
    func depth() {
        let parentheses = {
            String(repeating: "(", count: $0) + "true" + String(repeating: ")", count: $0)
        }
        #expect(verdict(parentheses(40)) == .yes)
        #expect(verdict(parentheses(100_000)) == .invalid)
        #expect(verdict(String(repeating: "!", count: 100_000) + "true") == .invalid)
        #expect(verdict(Array(repeating: "true", count: 5000).joined(separator: " && ")) == .yes)
        #expect(verdict(Array(repeating: "false", count: 5000).joined(separator: " || ")) == .no)
        #expect(verdict("'a'" + String(repeating: " + 'a'", count: 90) + " != ''") == .yes)
        #expect(verdict("'a'" + String(repeating: " + 'a'", count: 9000) + " != ''") == .invalid)
        #expect(verdict("root" + String(repeating: ".child('a')", count: 90) + ".exists()") == .no)
        #expect(verdict("true ? " + String(repeating: "true ? ", count: 9000)) == .invalid)
    }

    @Test("An expression that works too much is false")
    func work() {
        let tenfold = ".replace('a', 'aaaaaaaaaa')"
        let text = "'a'" + String(repeating: tenfold, count: 9) + ".length > 0"
        #expect(verdict(text) == .fails)
        #expect(verdict("'a'" + String(repeating: tenfold, count: 4) + ".length == 10000") == .yes)
        let long = Value.string(Array(repeating: UInt8(ascii: "a"), count: 1_000_000))
        #expect(verdict("root.val().matches(/(a|a)*(a|a)*b$/)", data: long) == .fails)
        #expect(verdict("root.val().contains('aaaaaaaaaaaaaaaaaaaaaaab')", data: long) == .fails)
    }
}

extension String {
    func replacing(_ old: String, with new: String) -> String {
        split(separator: old, omittingEmptySubsequences: false).joined(separator: new)
    }
}
