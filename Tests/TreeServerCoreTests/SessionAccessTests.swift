import Testing
import Tree

@testable import TreeServerCore

@Suite("Sessions under rules") struct SessionAccessTests {
    let talk = Conversation()

    private func rules(_ text: String) {
        let answer = talk.http.send(
            "PUT", "/.settings/rules.json", #"{"rules":\#(text)}"#,
            ["Authorization": "Bearer owner"])
        #expect(answer.hasPrefix("200"), "\(answer)")
    }

    private let denied = #"a: {"r":1,"b":{"s":"permission_denied","d":"Permission denied"}}"#

    @Test("Who may not is told so, and no data")
    func denial() {
        rules(#"{"open":{".read":true,".write":true}}"#)
        talk.connect("a")
        for (action, body) in [
            ("q", #"{"p":"/x","h":""}"#), ("g", #"{"p":"/x","q":{}}"#), ("p", #"{"p":"/x","d":1}"#),
            ("m", #"{"p":"/","d":{"open":1,"x":2}}"#), ("o", #"{"p":"/x","d":1}"#),
            ("p", #"{"p":"/x","d":1,"h":""}"#), ("p", #"{"p":"/x/.priority","d":1}"#),
        ] {
            #expect(talk.say("a", action, body) == [denied])
        }
        #expect(talk.say("a", "p", #"{"p":"/open","d":1}"#) == [ok("a")])
        #expect(talk.say("a", "p", #"{"p":"/open/.priority","d":1}"#) == [ok("a")])
    }

    @Test("A user is who his token says; signed out, he loses what he may no longer listen to")
    func user() {
        rules(#"{"u":{"$id":{".read":"$id === auth.uid",".write":"$id === auth.uid"}}}"#)
        talk.connect("a")
        let heard = talk.say("a", "auth", #"{"cred":"\#(idToken(uid: "ann"))"}"#)
        #expect(heard.count == 1)
        #expect(heard[0].hasPrefix(#"a: {"r":1,"b":{"s":"ok","d":{"auth":{"#), "\(heard)")
        #expect(talk.say("a", "p", #"{"p":"/u/ann","d":1}"#) == [ok("a")])
        #expect(talk.say("a", "p", #"{"p":"/u/bob","d":1}"#) == [denied])
        talk.say("a", "q", #"{"p":"/u/ann","h":""}"#)
        talk.say("a", "q", #"{"p":"/u/ann","h":"","q":{"l":1,"vf":"l"},"t":3}"#)
        #expect(
            talk.say("a", "unauth", "{}") == [
                #"a: {"a":"c","b":{"p":"u/ann"}}"#,
                #"a: {"a":"c","b":{"p":"u/ann","q":[{"l":1,"vf":"l"}]}}"#, ok("a"),
            ])
        #expect(talk.rest("PUT", "/u/ann.json", "2") == [])
    }

    @Test("The owner is stopped by no rule")
    func owner() {
        rules(#"{".read":false,".write":false}"#)
        talk.connect("a")
        #expect(talk.say("a", "p", #"{"p":"/x","d":1}"#) == [denied])
        #expect(talk.say("a", "gauth", #"{"cred":"owner"}"#)[0].contains(#""s":"ok""#))
        #expect(talk.say("a", "p", #"{"p":"/x","d":1}"#) == [ok("a")])
        #expect(
            talk.say("a", "gauth", #"{"cred":"owner","authvar":{"uid":"x"}}"#)[0].contains(
                #""s":"ok","d":{"auth":{"uid":"x"}"#))
        #expect(talk.say("a", "p", #"{"p":"/x","d":1}"#) == [denied])
    }

    @Test("New rules, and a write to what rules decide by, end listens before their data is seen")
    func revoked() {
        rules(#"{"r":{".read":"root.child('open').val() === true"}}"#)
        talk.http.send("PUT", "/open.json", "true", ["Authorization": "Bearer owner"])
        talk.connect("a")
        let listen = #"{"p":"/r","h":""}"#
        #expect(talk.say("a", "q", listen).last == ok("a", "{}"))
        talk.http.send(
            "PATCH", "/.json", #"{"open":false,"r":"secret"}"#, ["Authorization": "Bearer owner"])
        #expect(talk.hear() == [#"a: {"a":"c","b":{"p":"r"}}"#])
        #expect(talk.say("a", "q", listen) == [denied])
        rules(#"{".read":true}"#)
        #expect(talk.say("a", "q", listen).last == ok("a", "{}"))
        rules(#"{".read":false}"#)
        #expect(talk.hear() == [#"a: {"a":"c","b":{"p":"r"}}"#])
    }

    @Test("A listen that the clock closes is closed when the clock is asked")
    func time() {
        rules(#"{".read":"now < 1700000050000"}"#)
        talk.connect("a")
        talk.say("a", "q", #"{"p":"/r","h":""}"#)
        for _ in 0..<3 {
            talk.http.now = talk.server.nextTick!
            talk.server.tick(at: talk.http.now)
            guard talk.http.now > 1_700_000_050_000 else { continue }
            #expect(talk.hear() == [#"a: {"a":"c","b":{"p":"r"}}"#])
            return
        }
        Issue.record("the clock was never asked")
    }

    @Test("What was to happen on disconnect happens only if the client still may")
    func onDisconnect() {
        rules(#"{".read":true,"x":{".write":"auth !== null"}}"#)
        talk.connect("a")
        talk.say("a", "auth", #"{"cred":"\#(idToken(uid: "ann"))"}"#)
        #expect(talk.say("a", "o", #"{"p":"/x","d":1}"#) == [ok("a")])
        rules(#"{".read":true}"#)
        #expect(talk.leave("a") == [])
        #expect(talk.http.send("GET", "/x.json") == "200 null")
    }

    @Test("A refused token is a status, and the session is nobody's")
    func badToken() {
        talk.connect("a")
        let heard = talk.say("a", "auth", #"{"cred":"nonsense"}"#)
        #expect(heard.count == 1)
        #expect(heard[0].contains(#""s":"invalid_token""#), "\(heard)")
    }
}
