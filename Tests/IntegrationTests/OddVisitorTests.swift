import EventLoop
import TestSupport
import Testing

/// A short run of `swift run -c release fuzz --target rest`, and its like, around a real tree.
@Suite("Odd visitors of a tree")
struct OddVisitorTests {
    @Test(
        "They harm neither it nor its other clients",
        arguments: ["rest", "socket", "poll"], ["plain", "durable"])
    func visits(kind: String, tree: String) throws {
        let directory = "/tmp/firebridge-\(uniqueName("visitors"))"
        #expect(shell("mkdir '\(directory)'") == 0)
        defer { _ = shell("rm -rf '\(directory)'") }
        let flags = ["--data", directory + "/data", "--fsync", "never", "--fence"]
        let fuzz = try Subprocess(
            [
                try builtProgram("fuzz"), "--target", kind, "--rounds", "400", "--seconds", "60",
                "--program", try builtProgram("firebridge"), "--",
            ] + (tree == "durable" ? flags : []), output: .pipe)
        let output = LineReader(try #require(fuzz.output).number)
        var said: [String] = []
        var exit: Subprocess.Exit?
        try eventually("the visits end", within: .seconds(120), details: { "\(said)" }) {
            exit = exit ?? fuzz.poll()
            while case .line(let line) = try output.next() {
                said.append(String(decoding: line, as: UTF8.self))
            }
            return exit != nil
        }
        #expect(exit == .code(0), "\(said.joined(separator: "\n"))")
    }

    /// Found by `fuzz --target rest`: the answer was a text.
    @Test("Whose request says its length in two ways is told in the database's form")
    func twoLengths() throws {
        let directory = "/tmp/firebridge-\(uniqueName("visitors"))"
        #expect(shell("mkdir '\(directory)'") == 0)
        defer { _ = shell("rm -rf '\(directory)'") }
        let tree = try TreeProcess(in: directory, guardedBy: .none)
        defer { tree.child.process.send(.kill) }
        let place = tree.base.replacing("http://", with: "/dev/tcp/").replacing(":", with: "/")
        let head = #"PUT /a.json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"#
        let talk =
            "exec 3<> \(place); printf '\(head)Content-Length: 1\\r\\n\\r\\n1' >&3; cat <&3"
        try File.write(directory + "/talk", Array(talk.utf8))
        #expect(shell("timeout 20 bash '\(directory)/talk' > '\(directory)/answer'") == 0)
        let answer = try File.read(directory + "/answer", bytesMax: 1 << 16)
        let text = String(decoding: answer, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 400 ") && text.contains("Connection: close"))
        #expect(
            text.hasSuffix(
                #"{"error" : "Invalid request; it says its length in two ways."}"# + "\n"))
    }
}
