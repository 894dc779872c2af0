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
}
