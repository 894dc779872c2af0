/// Holds back a fault that repeats: the first is told at once, the others are counted and told
/// together when an interval has passed.
struct RepeatLimit {
    /// How many different faults are told apart. Of more, those that are new are told apart by
    /// level and event alone.
    static let faultsMax = 256

    /// What makes two lines the same fault, beside level and event: whose fault it is.
    private static let identifying =
        Set(["topic", "partition", "lane", "class", "code"]).union(sentences)
    /// Those in words. `text` is a library's own line, all that there is to tell its faults apart.
    private static let sentences: Set = ["reason", "text"]
    /// Each line of these answers somebody who has asked for something and waits for it.
    private static let answers: Set = ["reload_refused"]

    let interval: Duration
    private var windows: [String: Window] = [:]

    private struct Window {
        var ends: Int64
        var count = 0
        var last: LogLine
    }

    init(interval: Duration) { self.interval = interval }

    /// Whether a line is to be written now. If not, `due` tells of it later.
    mutating func admits(_ line: LogLine, at now: Int64) -> Bool {
        guard line.level <= .warn, !Self.answers.contains(line.event) else { return true }
        var fault = Self.fault(of: line)
        if windows[fault] == nil, windows.count >= Self.faultsMax {
            fault = "\(line.level.rawValue) \(line.event)"
        }
        guard var window = windows[fault] else {
            windows[fault] = Window(ends: now + interval.nanoseconds, last: line)
            return true
        }
        window.count += 1
        window.last = line
        windows[fault] = window
        return false
    }

    /// When `due` has something to say or to forget, in monotonic nanoseconds; nil for never.
    var next: Int64? { windows.values.lazy.map(\.ends).min() }

    /// The lines that tell of what was held back: the last one, with `repeated`, how many there
    /// were since the line before.
    mutating func due(at now: Int64) -> [LogLine] {
        var lines: [LogLine] = []
        for (fault, window) in windows where window.ends <= now {
            guard window.count > 0 else {
                windows[fault] = nil
                continue
            }
            var line = window.last
            line.fields.append((name: "repeated", value: LogValue(window.count)))
            lines.append(line)
            windows[fault] = Window(ends: now + interval.nanoseconds, last: window.last)
        }
        return lines.sorted { ($0.time, $0.event) < ($1.time, $1.event) }
    }

    /// The lines of everything that was held back, at the end of the process.
    mutating func rest() -> [LogLine] { due(at: .max - interval.nanoseconds) }

    private static func fault(of line: LogLine) -> String {
        var fault = "\(line.level.rawValue) \(line.event)"
        for (name, value) in line.fields where identifying.contains(name) {
            fault += " \(name)="
            if case .text(let text) = value {
                fault += sentences.contains(name) ? withoutNumbers(text) : text
            } else {
                fault += "\(value)"
            }
        }
        return fault
    }

    /// Counts, times and addresses in a sentence do not make it another one.
    private static func withoutNumbers(_ text: String) -> String {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return String(
            decoding: text.utf8.prefix(256).filter { !digits.contains($0) }, as: UTF8.self)
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
