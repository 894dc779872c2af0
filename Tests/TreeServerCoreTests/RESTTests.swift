import Testing
import Tree
import TreeRules

@testable import TreeServerCore

/// Request line, body, answer.
typealias Step = (request: String, body: String, answer: String)

@Suite struct RESTTests {
    private func play(_ steps: [Step], on session: Session = Session()) {
        for (request, body, answer) in steps {
            let parts = request.split(separator: " ", maxSplits: 1).map(String.init)
            #expect(session.send(parts[0], parts[1], body) == answer, "\(request) \(body)")
        }
    }

    @Test func everyMethodDoesWhatItIsFor() {
        play([
            ("GET /a.json", "", "200 null"),
            ("PUT /a.json", #"{"b":1,"c":{"d":"x"},"e":[]}"#, #"200 {"b":1,"c":{"d":"x"}}"#),
            ("GET /a/b.json", "", "200 1"),
            ("GET /a/b/z.json", "", "200 null"),
            (
                "PATCH /a.json", #"{"b":2,"c/f":true,"c/d":null}"#,
                #"200 {"b":2,"c/d":null,"c/f":true}"#
            ),
            ("GET /.json", "", #"200 {"a":{"b":2,"c":{"f":true}}}"#),
            ("PUT /a/b/new.json", "5", "200 5"),
            ("GET /a/b.json", "", #"200 {"new":5}"#),
            ("DELETE /a/c.json", "", "200 null"),
            ("PUT /a/b.json", "null", "200 null"),
            ("GET /.json", "", "200 null"),
            ("PUT /s.json?print=silent", "1", "204"),
            ("PATCH /.json?print=silent", #"{"t":2}"#, "204"),
            ("GET /.json?print=silent", "", "204"),
            ("DELETE /s.json?print=silent", "", "204"),
            ("GET /.json?print=pretty", "", "200 {\n  \"t\": 2\n}"),
            ("PATCH /t.json", "null", "200 null"),
            ("GET /.json", "", "200 null"),
            ("BREW /.json", "", #"405 {"error" : "Method BREW is not supported"}"#),
        ])
    }

    @Test func arraysAreCoercedExceptForExportAndShallow() {
        play([
            ("PUT /l.json", #"["a",null,"c"]"#, #"200 ["a",null,"c"]"#),
            ("GET /l.json", "", #"200 ["a",null,"c"]"#),
            ("GET /l.json?format=export", "", #"200 {"0":"a","2":"c"}"#),
            ("GET /l.json?shallow=true", "", #"200 {"0":"a","2":"c"}"#),
            (
                "PUT /d.json", #"{"x":{"y":1},"z":false,"n":[1,2]}"#,
                #"200 {"n":[1,2],"x":{"y":1},"z":false}"#
            ),
            ("GET /d.json?shallow=true", "", #"200 {"n":true,"x":true,"z":false}"#),
            ("GET /d.json?shallow=true&limitToFirst=2", "", #"200 {"n":true,"x":true}"#),
            (
                "GET /d.json?shallow=true&startAfter=n&limitToFirst=1&timeout=60000ms", "",
                #"200 {"x":true}"#
            ),
            ("GET /d/z.json?shallow=true", "", "200 false"),
        ])
    }

    @Test func onePatchIsAllOrNothing() {
        let session = Session()
        play(
            [
                ("PUT /.json", #"{"a":1}"#, #"200 {"a":1}"#),
                (
                    "PATCH /.json", #"{"b":2,"c.d":3}"#,
                    #"400 {"error" : "Invalid data; couldn't parse key beginning at 1:9. Key value can't be empty or contain $ # [ ] / or ."}"#
                ),
                (
                    "PATCH /.json", #"{"b/c":2,"b":3}"#,
                    #"400 {"error" : "Invalid data; update contains a path /b/c and its ancestor /b"}"#
                ),
                (
                    "PATCH /.json", #"{"b":2,"/b/":3}"#,
                    #"400 {"error" : "Invalid data; update contains a path /b and its ancestor /b"}"#
                ),
                ("GET /.json", "", #"200 {"a":1}"#),
                ("PATCH /.json", #"{"/x/":1,"y/":2}"#, #"200 {"x":1,"y":2}"#),
                ("PATCH /x.json", #"{"p/.priority":1,"q":2}"#, #"200 {"p/.priority":1,"q":2}"#),
            ], on: session)
    }

    @Test(
        arguments: [
            ("PUT /a.json", "", "Error: No data supplied."),
            ("PUT /a.json", "{", "Invalid data; couldn't parse JSON object, array, or value."),
            ("PUT /a.json", "1 2", "Invalid data; couldn't parse JSON object, array, or value."),
            ("PATCH /a.json", "5", "Invalid data; a PATCH needs a JSON object or null."),
            ("PATCH /a.json", "[1]", "Invalid data; a PATCH needs a JSON object or null."),
            (
                "PUT /a.json", "{\"a\":1,\n \"b$\":2}",
                "Invalid data; couldn't parse key beginning at 2:3. Key value can't be empty or contain $ # [ ] / or ."
            ),
            (
                "PATCH /a.json", #"{"b//c":1}"#,
                "Invalid data; couldn't parse key beginning at 1:3. Key value can't be empty or contain $ # [ ] / or ."
            ),
            (
                "PATCH /a.json", #"{"":1}"#,
                "Invalid data; couldn't parse key beginning at 1:3. Key value can't be empty or contain $ # [ ] / or ."
            ),
            (
                "PATCH /a.json", #"{".sv":"timestamp"}"#,
                "Invalid data; couldn't parse key beginning at 1:3. Key value can't be empty or contain $ # [ ] / or ."
            ),
            ("PUT /a.json", #"{".sv":"soon"}"#, "Invalid data; unknown server value at 1:9."),
            ("PUT /a.json", "1e999", "Invalid data; number at 1:1 does not fit a double."),
            (
                "PUT /a.json?orderBy=\"$key\"", "1",
                "Querying related parameters not supported on this request type"
            ),
            (
                "DELETE /a.json?shallow=true", "",
                "Querying related parameters not supported on this request type"
            ),
            (
                "GET /a.json?limitToFirst=1", "",
                "orderBy must be defined when other query parameters are defined"
            ),
            ("GET /a.json?orderBy=x", "", "orderBy must be a valid JSON encoded path"),
            (
                "GET /a.json?orderBy=\"x\"&limitToFirst=1&limitToLast=1", "",
                "Only one of limitToFirst and limitToLast may be specified"
            ),
            ("GET /a.json?orderBy=\"x\"&limitToFirst=x", "", "limitToFirst must be an integer"),
            (
                "GET /a.json?orderBy=\"x\"&equalTo=1&startAt=2", "",
                "equalTo cannot be specified in addition to startAfter, startAt, endAt, or endBefore"
            ),
            (
                "GET /a.json?orderBy=\"x\"&equalTo={}", "",
                "Constraint index field must be a JSON primitive"
            ),
            (
                "GET /a.json?shallow=true&orderBy=\"x\"", "",
                "Mixing 'shallow' and querying parameters is not supported"
            ),
            (
                "GET /a.json?timeout=16min", "",
                "timeout must be like 3ms, 3s or 3min, at most 15min"
            ),
            ("GET /a.json?timeout=soon", "", "timeout must be like 3ms, 3s or 3min, at most 15min"),
            (
                "PUT /a.json?writeSizeLimit=huge", "1",
                "writeSizeLimit must be tiny, small, medium, large or unlimited"
            ),
            ("GET /a.json?print=loud", "", "print must be 'pretty' or 'silent', found 'loud'"),
            ("GET /a.json?callback=a(b", "", "callback must be the name of a function"),
            ("GET /a%2.json", "", "Invalid path: a % needs two digits after it"),
            ("GET /a//b.json", "", "Invalid path: it has an empty name"),
            (
                "GET /a%2Fb.json", "",
                "Invalid path: names must not contain control characters or any of . # $ [ ] /"
            ),
            (
                "GET /a.b.json", "",
                "Invalid path: names must not contain control characters or any of . # $ [ ] /"
            ),
        ] as [(String, String, String)])
    func whatCannotBeDoneIsRefusedWithItsReason(request: String, body: String, error: String) {
        let parts = request.split(separator: " ", maxSplits: 1).map(String.init)
        let answer = Session().response(parts[0], parts[1], Array(body.utf8))
        #expect(answer.status == 400)
        #expect(
            String(decoding: answer.body, as: UTF8.self)
                == "{\"error\" : \(String(decoding: Value.string(Array(error.utf8)).json(), as: UTF8.self))}\n"
        )
    }

    @Test func limitsOfDepthKeyAndSize() {
        let session = Session { options in
            options.limits.writeBytesMax = 2_000
            options.readBytesMax = 3_000
        }
        let deep = Array(repeating: "d", count: 32).joined(separator: "/")
        #expect(session.send("PUT", "/\(deep).json", "1") == "200 1")
        #expect(session.send("PUT", "/\(deep)/e.json", "1").hasPrefix("400 "))
        #expect(session.send("PUT", "/\(deep).json", #"{"e":1}"#).hasPrefix("400 "))
        #expect(session.send("PATCH", "/x.json", "{\"\(deep)\":1}").hasPrefix("400 "))
        let key = String(repeating: "k", count: 768)
        #expect(session.send("PUT", "/\(key).json", "1") == "200 1")
        #expect(session.send("PUT", "/\(key)k.json", "1").hasPrefix("400 "))
        let text = "\"" + String(repeating: "x", count: 1_998) + "\""
        #expect(session.send("PUT", "/t.json?print=silent", text) == "204")
        #expect(
            session.send("PUT", "/t.json", text + " ")
                == #"400 {"error" : "Data to write exceeds the maximum size that can be modified with a single request."}"#
        )
        #expect(session.send("PUT", "/u.json?print=silent", text) == "204")
        #expect(
            session.send("GET", "/.json")
                == #"400 {"error" : "Data requested exceeds the maximum size that can be accessed with a single request."}"#
        )
    }

    @Test func pushMakesKeysThatSortByTime() {
        let session = Session()
        var keys: [[UInt8]] = []
        for step in 0..<200 {
            if step % 3 == 0 { session.now += 1 }
            let answer = session.send("POST", "/list.json", "\(step)")
            #expect(answer.hasPrefix(#"200 {"name":"-"#))
            let key = answer.dropFirst(#"200 {"name":""#.count).dropLast(2)
            #expect(key.utf8.count == 20)
            keys.append(Array(key.utf8))
        }
        #expect(keys == keys.sorted { $0.lexicographicallyPrecedes($1) })
        #expect(Set(keys).count == 200)
        #expect(session.send("GET", "/list.json?orderBy=\"$key\"&limitToLast=1").hasSuffix(":199}"))
    }

    @Test func serverValuesSeeOneInstantAndTheCurrentValue() {
        play([
            ("PUT /n.json", #"{"a":1,"b":"x"}"#, #"200 {"a":1,"b":"x"}"#),
            (
                "PATCH /n.json",
                #"{"a":{".sv":{"increment":2}},"b":{".sv":{"increment":0.5}},"t/u":{".sv":"timestamp"},"v":[{".sv":"timestamp"}]}"#,
                #"200 {"a":3,"b":0.5,"t/u":1700000000000,"v":[1700000000000]}"#
            ),
            ("PUT /n/a.json", #"{".sv":{"increment":-4}}"#, "200 -1"),
            (
                "GET /n.json", "",
                #"200 {"a":-1,"b":0.5,"t":{"u":1700000000000},"v":[1700000000000]}"#
            ),
        ])
    }

    @Test func queriesShowAWindowOfTheChildren() {
        play([
            (
                "PUT /d.json",
                #"{"a":{"h":3},"b":{"h":1},"c":{"h":2},"d":{"n":0},"10":{"h":"x"},"9":{"h":true}}"#,
                #"200 {"9":{"h":true},"10":{"h":"x"},"a":{"h":3},"b":{"h":1},"c":{"h":2},"d":{"n":0}}"#
            ),
            (
                "GET /d.json?orderBy=\"$key\"&limitToFirst=2", "",
                #"200 {"9":{"h":true},"10":{"h":"x"}}"#
            ),
            (
                "GET /d.json?orderBy=\"$key\"&startAt=\"b\"&endAt=\"c\"", "",
                #"200 {"b":{"h":1},"c":{"h":2}}"#
            ),
            (
                "GET /d.json?orderBy=\"$key\"&startAfter=\"b\"&endBefore=\"d\"", "",
                #"200 {"c":{"h":2}}"#
            ),
            ("GET /d.json?orderBy=\"h\"&startAt=2&endAt=3", "", #"200 {"a":{"h":3},"c":{"h":2}}"#),
            (
                "GET /d.json?orderBy=\"h\"&startAfter=2&endBefore=\"y\"", "",
                #"200 {"10":{"h":"x"},"a":{"h":3}}"#
            ),
            ("GET /d.json?orderBy=\"h\"&equalTo=1", "", #"200 {"b":{"h":1}}"#),
            ("GET /d.json?orderBy=\"h\"&equalTo=null", "", #"200 {"d":{"n":0}}"#),
            ("GET /d.json?orderBy=\"h\"&limitToLast=1", "", #"200 {"10":{"h":"x"}}"#),
            ("GET /d.json?orderBy=\"h\"&limitToFirst=2", "", #"200 {"9":{"h":true},"d":{"n":0}}"#),
            ("PUT /v.json", #"{"a":2,"b":1,"c":1}"#, #"200 {"a":2,"b":1,"c":1}"#),
            ("GET /v.json?orderBy=\"$value\"&startAt=1,\"c\"", "", #"200 {"a":2,"c":1}"#),
            ("GET /v.json?orderBy=\"$value\"&endAt=1,\"b\"", "", #"200 {"b":1}"#),
            ("GET /v/a.json?orderBy=\"$value\"", "", "200 null"),
        ])
    }

    @Test func methodMayBeOverridden() {
        let session = Session()
        #expect(session.send("POST", "/a.json?x-http-method-override=PUT", "1") == "200 1")
        #expect(
            session.send("POST", "/.json", #"{"b":2}"#, ["X-HTTP-Method-Override": "PATCH"])
                == #"200 {"b":2}"#)
        #expect(
            session.send("GET", "/.json", "", ["X-HTTP-Method-Override": "DELETE"])
                == #"200 {"a":1,"b":2}"#)
    }

    @Test func browsersAndToolsGetWhatTheyAskFor() {
        let session = Session()
        session.send("PUT", "/a.json", #"{"x":1}"#)
        #expect(session.send("GET", "/a.json?callback=my.fn") == #"200 my.fn({"x":1});"#)
        #expect(
            session.send("GET", "/a.json?download=a\"b.json", showing: "Content-Disposition")
                == #"200 [attachment; filename="ab.json"] {"x":1}"#)
        #expect(
            session.send("OPTIONS", "/a.json", showing: "Access-Control-Allow-Methods").contains(
                "PATCH"))
        #expect(
            session.send("GET", "/a.json", showing: "Access-Control-Allow-Origin").hasPrefix(
                "200 [*]"))
        #expect(session.send("GET", "/a").hasPrefix("404 append .json to your request URI"))
        #expect(session.send("GET", "/", "", ["Host": "h:1"]).contains("http://h:1/?ns=demo"))
    }

    @Test func databasesAreIsolatedAndMadeOnFirstUse() {
        let session = Session()
        session.send("PUT", "/a.json?ns=one", "1")
        session.send("PUT", "/a.json", "2", ["Host": "two.firebaseio.com:443"])
        session.send("PUT", "/a.json?ns=", "3", ["Host": "127.0.0.1:9000"])
        #expect(session.send("GET", "/a.json?ns=one", "", ["Host": "two.localhost"]) == "200 1")
        #expect(session.send("GET", "/a.json?ns=two") == "200 2")
        #expect(session.send("GET", "/a.json", "", ["Host": "localhost:9000"]) == "200 3")
        #expect(session.send("GET", "/a.json", "", ["Host": "[::1]:9000"]) == "200 3")
        #expect(
            session.send("GET", "/.inspect/databases.json")
                == #"200 [{"name":"demo"},{"name":"one"},{"name":"two"}]"#)
    }

    @Test("A database is listed as long as there is something in it, or somebody at it")
    func emptiedDatabases() throws {
        let session = Session()
        let list = { session.send("GET", "/.inspect/databases.json") }
        session.send("PUT", "/a/b.json?ns=one", "1")
        session.send("PUT", "/a.json?ns=two", "1")
        session.send("PUT", "/.settings/rules.json?ns=three", #"{"rules":{".write":true}}"#)
        let stream = session.listen("/a.json?ns=two")
        for name in ["one", "two", "three"] { session.send("DELETE", "/.json?ns=\(name)") }
        #expect(list() == #"200 [{"name":"three"},{"name":"two"}]"#)
        session.server.closed(stream.id)
        #expect(list() == #"200 [{"name":"three"}]"#)
        #expect(session.send("PUT", "/a.json?ns=one", "2") == "200 2")
        #expect(session.send("GET", "/a.json?ns=one") == "200 2")
    }

    @Test("Who only names databases leaves none behind, neither refused, nor reading, nor leaving")
    func databasesAreForgotten() throws {
        let denying = try Rules(Array(#"{"rules":{"open":{".read":true}}}"#.utf8))
        let session = Session { $0.rules = denying }
        let asOwner = ["Authorization": "Bearer owner"]
        session.send("GET", "/a.json?ns=one")
        session.send("PUT", "/a.json?ns=two", "1")
        session.send("GET", "/open.json?ns=three")
        let stream = session.listen("/open.json?ns=four")
        session.send("GET", "/.lp?start=t&ns=five")
        #expect(session.server.namespaceNames == [Array("five".utf8), Array("four".utf8)])
        session.server.closed(stream.id)
        session.now += 60_000
        session.server.tick(at: session.now)
        #expect(session.server.sessionCount == 0)
        #expect(session.server.namespaceNames == [])
        session.send("PUT", "/a.json?ns=six", "1", asOwner)
        session.send("PUT", "/.settings/rules.json?ns=seven", #"{"rules":{}}"#, asOwner)
        #expect(session.server.namespaceNames == [Array("seven".utf8), Array("six".utf8)])
    }

    @Test("A database has a name of at most 768 bytes")
    func longName() {
        let session = Session()
        let name = String(repeating: "n", count: 768)
        #expect(session.send("PUT", "/a.json?ns=\(name)", "1") == "200 1")
        for target in ["/a.json", "/.lp", "/.ws", "/"] {
            #expect(
                session.send("GET", "\(target)?ns=\(name)n")
                    == #"400 {"error" : "The name of a database must have at most 768 bytes"}"#)
        }
    }

    @Test func rulesAreKeptAsTheyWerePut() {
        let session = Session()
        let owner = ["Authorization": "Bearer owner"]
        let send = { session.send($0, "/.settings/rules.json?ns=" + $1, $2, owner) }
        let rules =
            "{ // open\n \"rules\": {\"a b\": {\".read\": \"'//' != null\"}, /* all */ \".write\": \"auth != null\"}}"
        #expect(send("PUT", "r", rules) == #"200 {"status":"ok"}"#)
        #expect(send("GET", "r", "") == "200 " + rules)
        #expect(
            send("GET", "r&format=strict", "")
                == #"200 {"rules":{"a b":{".read":"'//' != null"},".write":"auth != null"}}"#
        )
        #expect(send("GET", "other", "").contains(#"".read":true"#))
        #expect(
            send("PUT", "r", "{\"rules\":")
                == #"400 {"error" : "Line 1:10: Expected a value, found the end"}"#)
        #expect(send("PUT", "r", "{}").hasPrefix("400 "))
        #expect(
            send("PUT", "r", "{\"rules\":{\n\".read\": \"foo\"}}")
                == #"400 {"error" : "Line 2:11: Unknown variable 'foo'. In .read of /: foo"}"#)
        #expect(send("GET", "r", "") == "200 " + rules)
        #expect(session.send("GET", "/.settings/rules.json?ns=r").hasPrefix("401 "))
        #expect(session.send("PUT", "/.settings/rules.json?ns=r", rules).hasPrefix("401 "))
        #expect(session.send("GET", "/.settings/nothing.json").hasPrefix("404 "))
    }
}
