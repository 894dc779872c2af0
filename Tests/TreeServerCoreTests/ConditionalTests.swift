import Testing

@testable import TreeServerCore

@Suite struct ConditionalTests {
    private let wants = ["X-Firebase-ETag": "true"]

    @Test func aTagIsGivenWhereItIsAskedFor() {
        let session = Session()
        #expect(session.send("GET", "/a.json", showing: "ETag") == "200 [none] null")
        #expect(
            session.send("GET", "/a.json", "", wants, showing: "ETag") == "200 [null_etag] null")
        #expect(
            session.send("PUT", "/a.json", "true", wants, showing: "ETag")
                == "200 [E5z61QM0lN/U2WsOnusszCTkR8M=] true")
        #expect(
            session.send("GET", "/a.json", "", wants, showing: "ETag")
                == "200 [E5z61QM0lN/U2WsOnusszCTkR8M=] true")
        #expect(
            session.send("DELETE", "/a.json", "", wants, showing: "ETag") == "200 [null_etag] null")
    }

    @Test func aWriteHappensOnlyOverTheValueThatWasSeen() {
        let session = Session()
        let null = ["If-Match": "null_etag"]
        #expect(
            session.send("PUT", "/a.json", "1", null, showing: "ETag")
                == "200 [YPVfR2bXt/lcDjiQZ8pOkAd3qkQ=] 1")
        #expect(
            session.send("PUT", "/a.json", "2", null, showing: "ETag")
                == "412 [YPVfR2bXt/lcDjiQZ8pOkAd3qkQ=] 1")
        #expect(session.send("GET", "/a.json") == "200 1")
        let one = ["If-Match": "YPVfR2bXt/lcDjiQZ8pOkAd3qkQ="]
        #expect(session.send("PUT", "/a.json", #"{"x":1}"#, one) == #"200 {"x":1}"#)
        #expect(session.send("DELETE", "/a.json", "", one).hasPrefix(#"412 {"x":1}"#))
        #expect(session.send("DELETE", "/missing.json", "", null) == "200 null")
    }

    @Test func anUnchangedValueIsNotSentAgain() {
        let session = Session()
        session.send("PUT", "/a.json", "true")
        let seen = ["If-None-Match": "E5z61QM0lN/U2WsOnusszCTkR8M="]
        #expect(
            session.send("GET", "/a.json", "", seen, showing: "ETag")
                == "304 [E5z61QM0lN/U2WsOnusszCTkR8M=]")
        session.send("PUT", "/a.json", "false")
        #expect(
            session.send("GET", "/a.json", "", seen, showing: "ETag")
                == "200 [aSSNoqcS4oQwJ2xxH20rvpp3zP0=] false")
    }

    @Test(
        arguments: [
            ("GET", "/a.json", "if-match is supported on PUT and DELETE only"),
            ("PATCH", "/a.json", "if-match is supported on PUT and DELETE only"),
            ("POST", "/a.json", "if-match is supported on PUT and DELETE only"),
            (
                "PUT", "/a.json?print=silent",
                "Mixing 'shallow', querying parameters or 'print=silent' and if-match or if-none-match requests is not supported"
            ),
        ] as [(String, String, String)])
    func conditionsThatCannotBeAreRefused(method: String, target: String, error: String) {
        let answer = Session().send(method, target, #"{"b":1}"#, ["If-Match": "null_etag"])
        #expect(answer == "400 {\"error\" : \"\(error)\"}")
    }

    @Test func aHiddenReadCannotBeConditional() {
        #expect(
            Session().send("GET", "/a.json?shallow=true", "", ["If-None-Match": "x"]).hasPrefix(
                "400 {\"error\" : \"Mixing 'shallow'"))
    }
}
