import Testing
import Tree
import TreeWire

@Suite struct RESTTargetTests {
    func target(_ text: String) throws -> RESTTarget { try RESTTarget(Array(text.utf8)) }

    @Test(
        arguments: [
            ("/.json", "", true), ("/a.json", "a", true), ("/a/.json", "a", true),
            ("/a/b.json?x", "a/b", true),
            ("/a%20b/%C3%A9.json", "a b/é", true), ("/a+b.json", "a+b", true),
            ("/a%252Eb.json", "a%2Eb", true),
            ("/", "", false), ("", "", false), ("/a/b", "a/b", false), ("/a/b/", "a/b", false),
            ("/a.json/b", "a.json/b", false), ("/.settings/rules.json", ".settings/rules", true),
            ("/é.json", "é", true), ("/a.b.json", "a.b", true), ("/json", "json", false),
        ] as [(String, String, Bool)])
    func aPathIsReadSegmentBySegment(text: String, path: String, isJSON: Bool) throws {
        let target = try target(text)
        #expect(target.path == Path(path.utf8))
        #expect(target.isJSON == isJSON)
    }

    @Test func anEncodedSlashStaysInsideItsSegment() throws {
        #expect(try target("/a%2Fb.json").path.segments == [Array("a/b".utf8)])
    }

    @Test func parametersAreDecoded() throws {
        let target = try target("/a.json?orderBy=%22a+b%22&print=pretty&shallow&ns=&&x=1=2&x=3")
        #expect(target.parameter("orderBy") == Array("\"a b\"".utf8))
        #expect(target.parameter("print") == Array("pretty".utf8))
        #expect(target.parameter("shallow") == [])
        #expect(target.parameter("ns") == [])
        #expect(target.parameter("x") == Array("1=2".utf8))
        #expect(target.parameter("y") == nil)
    }

    @Test(
        arguments: [
            ("/a%2.json", RESTTarget.Failure.percentEncoding), ("/a%zz.json", .percentEncoding),
            ("/%FF.json", .notUTF8), ("/a//b.json", .emptySegment), ("//a.json", .emptySegment),
            ("/a//.json", .emptySegment), ("/a.json?x=%", .percentEncoding),
            ("/%ED%A0%80.json", .notUTF8),
        ] as [(String, RESTTarget.Failure)])
    func whatCannotBeReadIsRefused(text: String, failure: RESTTarget.Failure) {
        #expect(throws: failure) { try target(text) }
    }

    @Test func encodingIsUndoneByDecoding() {
        let all = (UInt8.min...UInt8.max).map { $0 }
        #expect(percentDecode(percentEncode(all)[...]) == all)
        #expect(percentEncode(Array("a-b._~é/ %".utf8)) == Array("a-b._~%C3%A9%2F%20%25".utf8))
    }

    @Test func anErrorIsJSONWithTheDatabasesSpacing() {
        #expect(errorBody("say \"no\"") == Array("{\"error\" : \"say \\\"no\\\"\"}\n".utf8))
    }
}
