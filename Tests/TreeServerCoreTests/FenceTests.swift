import Testing

@testable import TreeServerCore

@Suite struct FenceTests {
    private let path = "_firebridge/fences/g/chunks/3"

    private func fence(_ epoch: Int, _ owner: String, _ serial: Int) -> String {
        #"{"\#(path)":{"epoch":\#(epoch),"owner":"\#(owner)","serial":\#(serial),"at":{".sv":"timestamp"}},"data/x":\#(serial)}"#
    }

    private func fenced(root: String = "/.json") -> Session {
        let session = Session { $0.fence = true }
        #expect(session.send("PATCH", root + "?print=silent", fence(5, "me", 7)) == "204")
        return session
    }

    @Test(
        arguments: [
            (5, "me", 7, true), (5, "me", 8, true), (6, "you", 0, true), (6, "me", 1, true),
            (5, "me", 6, false),
            (5, "you", 7, false), (5, "you", 8, false), (4, "me", 9, false), (4, "you", 8, false),
        ] as [(Int, String, Int, Bool)])
    func aWriteUnderAFenceThatWasOvertakenIsRefusedWhole(
        epoch: Int, owner: String, serial: Int, accepted: Bool
    ) {
        for root in ["/.json", "/some/root.json"] {
            let session = fenced(root: root)
            let answer = session.send("PATCH", root + "?print=silent", fence(epoch, owner, serial))
            #expect(answer == (accepted ? "204" : #"401 {"error" : "Permission denied"}"#))
            let data = root == "/.json" ? "/data/x.json" : "/some/root/data/x.json"
            #expect(session.send("GET", data) == (accepted ? "200 \(serial)" : "200 7"))
        }
    }

    @Test func withoutTheOptionEverythingIsAccepted() {
        let session = Session()
        #expect(session.send("PATCH", "/.json?print=silent", fence(5, "me", 7)) == "204")
        #expect(session.send("PATCH", "/.json?print=silent", fence(1, "you", 1)) == "204")
    }

    @Test func partsOfAFenceCountAsTheFenceTheyLeave() {
        let session = fenced()
        #expect(session.send("PATCH", "/\(path).json?print=silent", #"{"at":1}"#) == "204")
        #expect(session.send("PATCH", "/\(path).json", #"{"epoch":4}"#).hasPrefix("401"))
        #expect(
            session.send("PATCH", "/\(path).json", #"{"epoch":6,"owner":"you","serial":0}"#)
                .hasPrefix("200"))
        #expect(session.send("PUT", "/\(path)/owner.json", #""me""#).hasPrefix("401"))
        #expect(session.send("PUT", "/\(path).json", "1").hasPrefix("401"))
    }

    @Test func anAdministratorMayRemoveAFenceOrWhatIsAboveIt() {
        #expect(fenced().send("DELETE", "/\(path).json") == "200 null")
        #expect(fenced().send("PATCH", "/.json", #"{"\#(path)":null}"#).hasPrefix("200"))
        #expect(fenced().send("PUT", "/_firebridge/fences/g.json", "{}") == "200 null")
        #expect(fenced().send("DELETE", "/.json") == "200 null")
        let session = fenced()
        session.send("DELETE", "/\(path).json")
        #expect(session.send("PATCH", "/.json?print=silent", fence(1, "you", 1)) == "204")
    }

    @Test func eachPartitionHasItsOwnFence() {
        let session = fenced()
        let other = #"{"_firebridge/fences/g/chunks/4":{"epoch":1,"owner":"you","serial":1}}"#
        #expect(session.send("PATCH", "/.json?print=silent", other) == "204")
    }
}
