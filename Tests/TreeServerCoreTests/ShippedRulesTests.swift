import EventLoop
import Oracle
import Testing
import Tree
import TreeRules

@testable import TreeServerCore

private let denied = #"401 {"error" : "Permission denied"}"#
private let owner = ["Authorization": "Bearer owner"]
private let path = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

/// `Config/database.rules.json` on the engine.
@Suite("The shipped rules") struct ShippedRulesTests {
    let session: Session
    let root: String

    /// The rules as they are, and nested below a path.
    init() throws { (session, root) = try Self.session(root: "") }

    private static func session(root: String) throws -> (Session, String) {
        let text = try File.read(path + "/Config/database.rules.json", bytesMax: 1 << 20)
        var rules = try Rules(text)
        if !root.isEmpty {
            let strict = String(decoding: rules.strict, as: UTF8.self)
            let inner = strict.drop { $0 != ":" }.dropFirst()
            let end = inner.lastIndex(of: "}") ?? inner.endIndex
            rules = try Rules(Array("{\"rules\":{\"\(root)\":\(inner[..<end])}}".utf8))
        }
        let session = Session { $0.rules = rules }
        let place = root.isEmpty ? "" : "/" + root
        let data = #"""
            {"conversations":{
               "c1":{"info":{"title":"t","members":{"ann":true,"bob":false,"eve":"true","x%2Ey%40":true}},"status":{"state":"IDLE"}},
               "a%2Eb":{"info":{"members":{"ann":true}}},
               "c2":{"info":{"members":{"bob":true}}}},
             "streaming":{"c1":{"8":{"meta":{"run_id":"r"}}},"c2":{"1":{"meta":{"run_id":"r"}}},"c3":{"1":true}},
             "events":{"e":{"c1":{"messages":{"message":1}},"c2":{"messages":{"message":1}}}},
             "scores":{"x":1},
             "_firebridge":{"version":1,"fences":{"g":{"s":{"3":{"epoch":5,"owner":"me","serial":7,"at":1}}}}}}
            """#
        #expect(session.send("PUT", "\(place)/.json", data, owner).hasPrefix("200"))
        return (session, place)
    }

    private static let bridge = "auth_variable_override=%7B%22uid%22%3A%22firebridge%22%7D"
    private func token(_ uid: String) -> String { "auth=" + idToken(uid: uid) }

    private func patch(_ body: String, on session: Session? = nil, at root: String? = nil) -> String
    {
        (session ?? self.session).send(
            "PATCH", "\(root ?? self.root)/.json?print=silent&\(Self.bridge)", body, owner)
    }

    private static let conversationNodes = [
        "conversations/c1", "conversations/c1/info", "conversations/c1/status/state",
        "streaming/c1", "streaming/c1/8", "streaming/c1/8/chunks/41/content", "events/e/c1",
        "events/e/c1/messages", "events/other/c1/runs",
    ]
    private static let otherNodes = [
        "", "conversations", "streaming", "events", "events/e", "events/other", "scores",
        "scores/x", "nothing", "_firebridge", "_firebridge/version", "_firebridge/fences/g/s/3",
        "_firebridge/streams/s/c1", "conversations/c2", "conversations/c2/info/members",
        "streaming/c2/1", "events/e/c2/messages", "streaming/c3", "conversations/c4",
    ]

    @Test("A member reads the nodes of a conversation", arguments: conversationNodes)
    func memberReads(node: String) throws {
        for root in ["", "try"] {
            let (session, place) = try Self.session(root: root)
            let answer = session.send("GET", "\(place)/\(node).json?\(token("ann"))")
            #expect(answer.hasPrefix("200"))
            let headers = ["Accept": "text/event-stream"]
            guard
                case .stream = session.answer(
                    "GET", "\(place)/\(node).json?\(token("ann"))", [], headers)
            else {
                Issue.record("no stream of \(node)")
                return
            }
        }
    }

    @Test("Who is no member reads none of it", arguments: conversationNodes)
    func othersDoNotRead(node: String) {
        // No token, and members of other conversations, and what is not exactly true.
        #expect(session.send("GET", "/\(node).json") == denied)
        for uid in ["bob", "eve", "stranger", "title", "info", "firebridge", "ann/x", "", "."] {
            let answer = session.send("GET", "/\(node).json?\(token(uid))")
            #expect(answer.hasPrefix("401"), "\(uid)")
        }
    }

    @Test("A member reads nothing else, the bridge's state least of all", arguments: otherNodes)
    func nothingElse(node: String) {
        for uid in ["ann", "firebridge"] {
            let queries = [
                "", "&shallow=true", "&orderBy=%22$key%22&limitToFirst=1", "&format=export",
            ]
            for query in queries {
                #expect(session.send("GET", "/\(node).json?\(token(uid))\(query)") == denied)
            }
        }
        #expect(session.send("GET", "/\(node).json") == denied)
    }

    @Test("Nobody writes, neither where he may read nor elsewhere")
    func nobodyWrites() {
        for node in Self.conversationNodes + Self.otherNodes {
            for uid in ["ann", "bob", "firebridge"] {
                for method in ["PUT", "PATCH", "POST", "DELETE"] {
                    let body = #"{"ann":true}"#
                    #expect(session.send(method, "/\(node).json?\(token(uid))", body) == denied)
                    #expect(session.send(method, "/\(node).json", body) == denied)
                }
            }
        }
        let membership = "/conversations/c2/info/members/ann.json?\(token("ann"))"
        #expect(session.send("PUT", membership, "true") == denied)
    }

    @Test("Ids that are encoded as keys are found: conversations' and users'")
    func encoded() {
        #expect(session.send("GET", "/conversations/a%252Eb.json?\(token("ann"))").hasPrefix("200"))
        #expect(session.send("GET", "/streaming/a%252Eb.json?\(token("ann"))").hasPrefix("200"))
        // The user x.y@: as a key x%2Ey%40 is another's, whose name is x.y and %40 in it.
        #expect(session.send("GET", "/conversations/c1.json?\(token("x.y@"))") == denied)
        session.send("PUT", "/conversations/c1/info/members/x%252Ey@.json", "true", owner)
        for node in Self.conversationNodes {
            #expect(session.send("GET", "/\(node).json?\(token("x.y@"))").hasPrefix("200"))
        }
        session.send("PUT", "/conversations/c1/info/members/a%252Fb.json", "true", owner)
        #expect(session.send("GET", "/conversations/c1.json?\(token("a/b"))").hasPrefix("200"))
        #expect(session.send("GET", "/conversations/c1.json?\(token("a%2Fb"))") == denied)
    }

    @Test("A member who is removed loses his streams")
    func removed() {
        let target = "/streaming/c1.json?\(token("ann"))"
        let id = session.listen(target).id
        #expect(patch(#"{"conversations/c1/info":{"title":"t","members":{"bob":true}}}"#) == "204")
        #expect(session.outputs() == [.event(id, "cancel null"), .end(id)])
        #expect(session.send("GET", target) == denied)
    }

    @Test("The bridge writes all that it must, at once")
    func bridgeWrites() throws {
        let body = #"""
            {"_firebridge/version":1,
             "_firebridge/watermarks/g/llm%2Etoken-chunks/3":{"next":42,"cluster":"x"},
             "_firebridge/fences/g/s/3":{"epoch":5,"owner":"me","serial":8,"at":{".sv":"timestamp"}},
             "_firebridge/fences/g/s/4":{"epoch":1,"owner":"me","serial":0},
             "_firebridge/streams/s/c1/8":{"run":"r1","birth":"2026-11-30T10:58:05.879Z"},
             "_firebridge/streams/s/c9":null,
             "_firebridge/streams/s/c1/erased":1796036286561,
             "_firebridge/agenda/s/3/o0123":"c1/8",
             "_firebridge/guards/s/conversations%2Fc1%2Finfo":"[3]",
             "streaming/c1/8/chunks/41":{"content":"lo"},
             "streaming/c1/9":null,
             "conversations/c1/status":{"state":"x"},
             "conversations/c2/info":{"members":{"ann":true}},
             "events/e/c1/messages":{"message":{}},
             "scores/x/y":0.95,
             "top":1}
            """#
        #expect(patch(body) == "204")
        let (nested, place) = try Self.session(root: "try")
        #expect(patch(body, on: nested, at: place) == "204")
        #expect(patch(body, on: nested, at: "") == denied)
    }

    @Test("The bridge reads nothing under its name, and replaces no place above its fences")
    func bridgeLimits() {
        #expect(
            session.send("GET", "/_firebridge/version.json?\(Self.bridge)", "", owner) == denied)
        for body in [
            #"{"_firebridge":null}"#, #"{"_firebridge":{"version":1}}"#,
            #"{"_firebridge/fences":null}"#, #"{"_firebridge/fences/g":null}"#,
            #"{"_firebridge/fences/g/s":{}}"#, #"{"_firebridge/fences/g/s/3":null}"#,
            #"{"_firebridge/fences/g/s/3/epoch":4}"#, #"{"_firebridge/fences/g/s/3/owner":"you"}"#,
            #"{"_firebridge/fences/g/s/3/serial":null}"#,
            #"{"_firebridge/fences/g/s/3":{"epoch":"6","owner":"me","serial":1}}"#,
            #"{"_firebridge/fences/g/s/3":{"epoch":6,"serial":1}}"#,
            #"{"_firebridge/fences/g/s/3":6}"#,
        ] {
            #expect(patch(body) == denied, "\(body)")
        }
        #expect(patch(#"{"_firebridge/fences/g/s/3/at":9}"#) == "204")
        #expect(patch(#"{"_firebridge/fences/g/s/3/at":null}"#) == "204")
        #expect(session.send("DELETE", "/.json?\(Self.bridge)", "", owner) == denied)
    }

    @Test("Without the override the bridge's credential bypasses all rules")
    func withoutOverride() {
        #expect(session.send("GET", "/_firebridge/version.json", "", owner) == "200 1")
        #expect(session.send("DELETE", "/_firebridge/fences.json", "", owner) == "200 null")
    }

    private static func fence(_ epoch: Int, _ owner: String, _ serial: Int, _ data: Int) -> String {
        #"{"_firebridge/fences/g/s/3":{"epoch":\#(epoch),"owner":"\#(owner)","serial":\#(serial)},"streaming/c/8":\#(data)}"#
    }

    @Test(
        "A fence that would go back refuses the whole write",
        arguments: [
            (5, "me", 7, true), (5, "me", 8, true), (6, "you", 0, true), (6, "me", 1, true),
            (5, "me", 6, false), (5, "you", 7, false), (5, "you", 8, false), (4, "me", 9, false),
            (4, "you", 8, false),
        ] as [(Int, String, Int, Bool)])
    func fences(epoch: Int, name: String, serial: Int, accepted: Bool) {
        #expect(patch(Self.fence(epoch, name, serial, 1)) == (accepted ? "204" : denied))
        let held = session.send("GET", "/streaming/c/8.json", "", owner)
        #expect(held == (accepted ? "200 1" : "200 null"))
    }

    /// Two bridges take turns, their requests arrive late, twice and in any order. What counts as
    /// a fence that goes back is said by `Fence` too, so both judge each request.
    @Test("Zombies and late requests: as --fence judges, request by request", arguments: 0..<50)
    func sequences(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        let fenced = Session { $0.fence = true }
        let initial = #"{"_firebridge/fences/g/s/3":{"epoch":5,"owner":"me","serial":7}}"#
        fenced.send("PATCH", "/.json", initial)
        var (epoch, serials, late) = (5, ["me": 7, "you": 0], [String]())
        var epochs = ["me": 5, "you": 0]
        for step in 0..<60 {
            let name = Bool.random(using: &random) ? "me" : "you"
            if Int.random(in: 0..<6, using: &random) == 0 {
                epoch += 1
                epochs[name] = epoch
                serials[name] = 0
            } else {
                serials[name, default: 0] += 1
            }
            let body = Self.fence(epochs[name] ?? 0, name, serials[name] ?? 0, step)
            late.append(body)
            let sent = Bool.random(using: &random) ? body : late.randomElement(using: &random)!
            let (mine, theirs) = (patch(sent), fenced.send("PATCH", "/.json?print=silent", sent))
            #expect(mine == theirs, "\(sent)")
        }
        let target = "/streaming/c/8.json"
        #expect(session.send("GET", target, "", owner) == fenced.send("GET", target))
    }
}
