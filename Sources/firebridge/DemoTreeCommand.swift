internal import Arguments
internal import Demo
internal import EventLoop
internal import Page
internal import TreeServerCore

/// The demo's tree, a child of the demo: its page has figures and buttons.
enum DemoTreeCommand {
    static let name = DemoTree.command

    /// - Parameter arguments: where to listen.
    static func run(_ arguments: [String]) -> Int32 {
        guard let text = arguments.first, let listen = ListenAddress(text) else {
            return Output.fail("\(name): expected an address", code: ExitCode.usage)
        }
        do throws(SystemError) {
            let line = try DemoLine()
            var options = TreeServer.Options()
            options.fence = true
            return TreeCommand.run(
                listen, TreeServer(options: options), desk: PageDesk(.demo, demo: line))
        } catch {
            return Output.fail("tree: \(error)", code: ExitCode.internalError)
        }
    }
}

/// The tree's end of what it and the demo tell each other: figures come in, buttons go out.
final class DemoLine {
    private let input = Descriptor(owning: 0)
    private let reader = LineReader(0)
    private var hasEnded = false

    init() throws(SystemError) { try input.setNonblocking() }

    /// Readable when the demo has said something; nil when it says nothing more.
    var descriptor: Int32? { hasEnded ? nil : input.number }

    /// The lines that it has said since the last time.
    func lines() -> [[UInt8]] {
        var lines: [[UInt8]] = []
        while !hasEnded {
            switch (try? reader.next()) ?? .end {
            case .line(let line): lines.append(line)
            case .wait: return lines
            case .end: hasEnded = true
            }
        }
        return lines
    }

    func tell(_ line: String) { try? Descriptor.writeAll(Array("\(line)\n".utf8), to: 1) }
}
