import Testing
import Tree
import TreeAuth
import TreeRules

@testable import TreeServerCore

/// An ID token as the emulator takes it.
func idToken(_ claims: String) -> String {
    "\(base64URL(#"{"alg":"none"}"#)).\(base64URL(claims))."
}

func idToken(uid: String) -> String { idToken(#"{"sub":"\#(uid)","iat":0}"#) }

func base64URL(_ text: String) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var out = ""
    var bits = 0
    var count = 0
    for byte in text.utf8 {
        bits = bits << 8 | Int(byte)
        count += 8
        while count >= 6 {
            count -= 6
            out.append(alphabet[bits >> count & 63])
        }
    }
    if count > 0 { out.append(alphabet[bits << (6 - count) & 63]) }
    return out
}

private let owner = ["Authorization": "Bearer owner"]
private let denied = #"401 {"error" : "Permission denied"}"#

@Suite("Access by rules") struct AccessTests {
    private static let rules = #"""
        {"rules":{
          "public":{".read":true,".indexOn":["n","deep/n"]},
          "users":{"$uid":{".read":"$uid === auth.uid",".write":"$uid === auth.uid",
             "age":{".validate":"newData.isNumber()"}}},
          "rooms":{"$room":{
             ".read":"root.child('members').child($room).child(auth.uid).val() === true",
             ".write":"auth.token.role === 'bot'"}},
          "inbox":{".write":"auth != null && !data.exists()"},
          "baskets":{".read":"query.orderByChild == 'owner' && query.equalTo == auth.uid && query.limitToFirst <= 10",
             ".indexOn":"owner"},
          "soon":{".read":"now < 1700000060000"}
        }}
        """#

    private func session(_ rules: String = Self.rules) throws -> Session {
        let rules = try Rules(Array(rules.utf8))
        let session = Session { $0.rules = rules }
        #expect(
            session.send(
                "PUT", "/.json",
                #"{"public":{"a":{"n":1}},"users":{"ann":{"age":3}},"rooms":{"r1":{"text":"hi"}},"members":{"r1":{"ann":true}},"baskets":{"b":{"owner":"ann"}}}"#,
                owner
            ).hasPrefix("200"))
        return session
    }

    @Test("Who shows nothing reads what is public and no more")
    func anonymous() throws {
        let session = try session()
        #expect(session.send("GET", "/public/a.json") == #"200 {"n":1}"#)
        for place in [
            "/.json", "/users.json", "/users/ann.json", "/rooms/r1.json", "/nothing.json",
        ] {
            #expect(session.send("GET", place) == denied)
        }
        for method in ["PUT", "PATCH", "POST", "DELETE"] {
            #expect(session.send(method, "/public/a.json", #"{"x":1}"#) == denied)
        }
        #expect(session.send("GET", "/public/a.json?shallow=true") == #"200 {"n":1}"#)
        #expect(session.send("GET", "/.json?shallow=true") == denied)
    }

    @Test("A priority is read by whom its value may be read, and a wildcard never means it")
    func priorities() throws {
        let session = try session(
            #"{"rules":{"open":{".read":true},"rooms":{"$room":{".read":true}}}}"#)
        for place in ["/open", "/rooms", "/rooms/r1"] {
            session.send("PUT", "\(place)/.priority.json", "7", owner)
            #expect(
                session.send("PUT", "\(place).json", #"{".value":1,".priority":7}"#, owner)
                    .hasPrefix("200"))
        }
        #expect(session.send("GET", "/open/.priority.json") == "200 7")
        #expect(session.send("GET", "/rooms.json") == denied)
        #expect(session.send("GET", "/rooms/.priority.json") == denied)
    }

    @Test("A user is known by auth, by access_token and by the header")
    func user() throws {
        let session = try session()
        let token = idToken(uid: "ann")
        #expect(session.send("GET", "/users/ann.json?auth=\(token)") == #"200 {"age":3}"#)
        #expect(session.send("GET", "/users/ann.json?access_token=\(token)") == #"200 {"age":3}"#)
        let header = ["Authorization": "Bearer \(token)"]
        #expect(session.send("GET", "/users/ann.json", "", header) == #"200 {"age":3}"#)
        #expect(session.send("GET", "/users/bob.json", "", header) == denied)
        #expect(session.send("PUT", "/users/ann/age.json", "4", header) == "200 4")
        #expect(session.send("PUT", "/users/ann/age.json", #""4""#, header) == denied)
        #expect(session.send("PUT", "/users/bob/age.json", "4", header) == denied)
        #expect(session.send("GET", "/rooms/r1.json", "", header) == #"200 {"text":"hi"}"#)
        #expect(session.send("PUT", "/rooms/r1.json", "1", header) == denied)
        let bot = idToken(#"{"sub":"b","role":"bot"}"#)
        #expect(session.send("PUT", "/rooms/r1.json?auth=\(bot)", "1") == "200 1")
    }

    @Test("The owner bypasses rules, also as auth_variable_override lets it appear as a user")
    func administrator() throws {
        let session = try session()
        #expect(session.send("GET", "/users/ann/age.json", "", owner) == "200 3")
        #expect(session.send("GET", "/users/ann/age.json?auth=owner") == "200 3")
        #expect(session.send("PUT", "/users/ann/age.json", #""x""#, owner) == #"200 "x""#)
        let asAnn = "?auth_variable_override=%7B%22uid%22%3A%22ann%22%7D"
        #expect(session.send("GET", "/users/ann/age.json" + asAnn, "", owner) == #"200 "x""#)
        #expect(session.send("GET", "/users/bob.json" + asAnn, "", owner) == denied)
        #expect(
            session.send("GET", "/users/ann.json?auth_variable_override=null", "", owner) == denied)
        #expect(
            session.send("GET", "/public/a/n.json?auth_variable_override=null", "", owner)
                == "200 1")
        let message = "auth_variable_override needs an administrator's credential"
        #expect(
            session.send("GET", "/users/ann.json" + asAnn) == #"401 {"error" : "\#(message)"}"#)
        #expect(
            session.send("GET", "/users/ann.json\(asAnn)&auth=\(idToken(uid: "ann"))")
                == #"401 {"error" : "\#(message)"}"#)
        #expect(
            session.send("GET", "/public.json?auth_variable_override=1", "", owner).hasPrefix("401")
        )
    }

    @Test("A credential that does not count is no anonymous one")
    func badCredentials() throws {
        let session = try session()
        #expect(
            session.send("GET", "/public.json?auth=nonsense")
                == #"401 {"error" : "Could not parse auth token."}"#)
        let over = idToken(#"{"sub":"ann","iat":1699990000,"exp":1700000000}"#)
        #expect(
            session.send("GET", "/public.json?auth=\(over)")
                == #"401 {"error" : "Auth token is expired"}"#)
    }

    @Test("An open database asks nobody, whatever is shown")
    func open() {
        let session = Session()
        #expect(session.send("PUT", "/a.json?auth=nonsense", "1") == "200 1")
        #expect(session.send("GET", "/a.json", "", ["Authorization": "Bearer x"]) == "200 1")
        #expect(session.send("GET", "/.inspect/databases.json").hasPrefix("200"))
        _ = session.listen("/a.json?auth=nonsense")
    }

    @Test("A conditional write needs to be allowed to read: its answer shows the value")
    func conditional() throws {
        let session = try session()
        let user = ["Authorization": "Bearer \(idToken(uid: "ann"))", "if-match": "null_etag"]
        #expect(session.send("PUT", "/inbox.json", "1", user) == denied)
        #expect(
            session.send("PUT", "/users/ann.json", #"{"age":9}"#, user) == #"412 {"age":3}"#)
    }

    @Test("A query is what the rules say it must be, and has its index")
    func queries() throws {
        let session = try session()
        let token = "auth=" + idToken(uid: "ann")
        let own = "orderBy=%22owner%22&equalTo=%22ann%22&limitToFirst=5"
        #expect(
            session.send("GET", "/baskets.json?\(own)&\(token)") == #"200 {"b":{"owner":"ann"}}"#)
        #expect(session.send("GET", "/baskets.json?\(token)") == denied)
        #expect(
            session.send(
                "GET", "/baskets.json?orderBy=%22owner%22&equalTo=%22bob%22&limitToFirst=5&\(token)"
            )
                == denied)
        #expect(session.send("GET", "/baskets.json?\(own)0&\(token)") == denied)
        #expect(session.send("GET", "/public.json?orderBy=%22n%22").hasPrefix("200"))
        #expect(session.send("GET", "/public.json?orderBy=%22deep/n%22").hasPrefix("200"))
        #expect(session.send("GET", "/public.json?orderBy=%22$key%22").hasPrefix("200"))
        let missing =
            #"400 {"error" : "Index not defined, add \".indexOn\": \"m\", for path \"/public\", to the rules"}"#
        #expect(session.send("GET", "/public.json?orderBy=%22m%22") == missing)
        #expect(session.send("GET", "/public.json?orderBy=%22m%22", "", owner) == missing)
        #expect(session.send("GET", "/public/a.json?orderBy=%22$value%22").contains(#"\".value\""#))
    }

    @Test("Rules, the list of databases and the like are the owner's once there are rules")
    func administration() throws {
        let session = try session()
        for place in ["/.settings/rules.json", "/.inspect/databases.json"] {
            #expect(session.send("GET", place) == denied)
            #expect(session.send("GET", place + "?auth=" + idToken(uid: "ann")) == denied)
            #expect(session.send("GET", place, "", owner).hasPrefix("200"))
        }
        #expect(
            session.send("PUT", "/.settings/rules.json", #"{"rules":{".read":true}}"#) == denied)
        #expect(session.send("GET", "/.settings/rules.json?ns=other") == denied)
    }

    @Test("A stream is refused as a read is")
    func refusedStream() throws {
        let session = try session()
        let headers = ["Accept": "text/event-stream"]
        #expect(session.send("GET", "/users/ann.json", "", headers) == denied)
        _ = session.listen("/public.json")
    }

    @Test("Other rules end the streams that they do not allow")
    func rulesChange() throws {
        let session = try session()
        let open = session.listen("/public.json").id
        let admin = session.listen("/users.json?auth=owner").id
        let user = session.listen("/users/ann.json?auth=" + idToken(uid: "ann")).id
        let rules = #"{"rules":{"users":{".read":"auth != null"}}}"#
        #expect(session.send("PUT", "/.settings/rules.json", rules, owner).hasPrefix("200"))
        #expect(session.outputs() == [.event(open, "cancel null"), .end(open)])
        #expect(session.server.streamCount == 2)
        session.send("PUT", "/users/ann/age.json", "5", owner)
        #expect(Set(session.events().keys) == [admin, user])
    }

    @Test("A stream in an open database sees rules come")
    func rulesCome() {
        let session = Session()
        let open = session.listen("/a.json").id
        let admin = session.listen("/a.json?auth=owner").id
        session.send("PUT", "/.settings/rules.json", #"{"rules":{}}"#)
        #expect(session.outputs() == [.event(open, "cancel null"), .end(open)])
        session.send("PUT", "/a.json", "1", owner)
        #expect(Set(session.events().keys) == [admin])
    }

    @Test("A write that takes a reader's access ends his stream, and he does not see it")
    func dataChange() throws {
        let session = try session()
        let ann = session.listen("/rooms/r1.json?auth=" + idToken(uid: "ann")).id
        session.send("PUT", "/members/r2.json", "{\"ann\":true}", owner)
        session.send("PUT", "/rooms/r1/text.json", "1", owner)
        #expect(session.outputs() == [.event(ann, #"put {"path":"/text","data":1}"#)])
        let both = #"{"members/r1/ann":null,"rooms/r1/text":"secret"}"#
        session.send("PATCH", "/.json", both, owner)
        #expect(session.outputs() == [.event(ann, "cancel null"), .end(ann)])
        #expect(session.server.streamCount == 0)
        session.send("PUT", "/members/r1/ann.json", "true", owner)
        for write in ["/members.json", "/members/r1.json", "/members/r1/ann/x.json", "/.json"] {
            let again = session.listen("/rooms/r1.json?auth=" + idToken(uid: "ann")).id
            session.send("PUT", write, "1", owner)
            #expect(session.outputs().last == .end(again))
            session.send("PUT", "/members/r1.json", #"{"ann":true}"#, owner)
        }
    }

    @Test("A token that ends, ends its stream with auth_revoked")
    func tokenExpires() throws {
        let session = try session()
        let token = idToken(#"{"sub":"ann","iat":1700000000,"exp":1700000010}"#)
        let ann = session.listen("/users/ann.json?auth=\(token)").id
        #expect(session.server.nextTick == 1_700_000_010_000)
        session.now = 1_700_000_009_999
        session.server.tick(at: session.now)
        #expect(session.outputs() == [])
        session.now += 1
        session.server.tick(at: session.now)
        #expect(
            session.outputs() == [
                .event(ann, #"auth_revoked "credential is no longer valid""#), .end(ann),
            ])
        #expect(session.server.nextTick == nil)
    }

    @Test("A rule that looks at the clock is asked again with each sign of life")
    func clock() throws {
        let session = try session()
        let id = session.listen("/soon.json").id
        session.now += 30_000
        session.server.tick(at: session.now)
        #expect(session.outputs() == [.event(id, "keep-alive null")])
        session.now += 30_000
        session.server.tick(at: session.now)
        #expect(session.outputs() == [.event(id, "cancel null"), .end(id)])
    }

    @Test("With keys, neither owner nor a token without signature counts")
    func keys() throws {
        let session = try session()
        let modulus = String(repeating: "q6ur", count: 86)
        let set =
            #"{"keys":[{"kty":"RSA","firebridge:owner":true,"kid":"k","n":"\#(modulus)","e":"AQAB"}]}"#
        session.server.authority = .keys(try KeySet(parsing: Array(set.utf8))) { _, _, signature in
            signature == Array("good".utf8)
        }
        func signed(_ claims: String, _ signature: String = "good") -> String {
            "\(base64URL(#"{"alg":"RS256","kid":"k"}"#)).\(base64URL(claims)).\(base64URL(signature))"
        }
        let times = #""iat":1700000000,"exp":1700000010"#
        let ann = #"{"iss":"https://securetoken.google.com/p","aud":"p","sub":"ann",\#(times)}"#
        #expect(session.send("GET", "/users/ann.json?auth=\(signed(ann))") == #"200 {"age":3}"#)
        #expect(session.send("GET", "/users/ann.json?auth=\(signed(ann, "bad"))").hasPrefix("401"))
        #expect(session.send("GET", "/users/ann.json?auth=\(idToken(uid: "ann"))").hasPrefix("401"))
        #expect(session.send("GET", "/users/ann.json", "", owner).hasPrefix("401"))
        #expect(session.send("GET", "/users/ann.json?auth=owner").hasPrefix("401"))
        #expect(session.send("GET", "/public/a/n.json") == "200 1")
        let scope = #"{"scope":"https://www.googleapis.com/auth/firebase.database",\#(times)}"#
        let admin = ["Authorization": "Bearer \(signed(scope))"]
        #expect(session.send("GET", "/users/ann.json", "", admin) == #"200 {"age":3}"#)
        #expect(
            session.send(
                "GET", "/users/ann.json?auth_variable_override=%7B%22uid%22:%22ann%22%7D", "", admin
            )
                == #"200 {"age":3}"#)
        session.now = 1_700_000_010_000
        #expect(
            session.send("GET", "/users/ann.json?auth=\(signed(ann))")
                == #"401 {"error" : "Auth token is expired"}"#)
        // A database without rules is open to all, but its administration is not.
        let open = Session()
        open.server.authority = session.server.authority
        #expect(open.send("GET", "/a.json") == "200 null")
        #expect(open.send("PUT", "/.settings/rules.json", "{\"rules\":{}}", owner).hasPrefix("401"))
    }
}

/// What the server had for its streams, in order.
enum Seen: Equatable {
    case event(StreamID, String)
    case end(StreamID)
}

extension Session {
    func outputs() -> [Seen] {
        var seen: [Seen] = []
        while let output = server.nextOutput() {
            switch output {
            case .send(let id, let bytes):
                seen.append(.event(id, line(String(decoding: bytes, as: UTF8.self))))
            case .end(let id): seen.append(.end(id))
            case .message, .close: break
            }
        }
        return seen
    }
}
