/// The log: one event a line, with a level, a stable name and fields.
///
/// It never blocks: what standard error does not take at once is dropped and counted, and the count
/// is told by the next line that goes through. A fault that repeats is told once and then summed up
/// (`tick`). Registered secrets never appear.
public final class Log {
    /// The longest line, in bytes: what a pipe takes as a whole or not at all (PIPE_BUF, pipe(7)).
    public static let lineBytesMax = 4096

    /// The least urgent level that is written. May change, as a reload does.
    public var level: LogLevel
    /// How lines look. May change likewise.
    public var style: LogStyle
    /// How many lines were dropped since the start.
    public private(set) var linesDropped = 0

    private let clock: () -> (monotonic: Int64, wall: Int64)
    private let send: (ArraySlice<UInt8>) -> Int
    private var secrets: [[UInt8]] = []
    private var limit: RepeatLimit
    private var unsent: ArraySlice<UInt8> = []
    private var droppedUntold = 0

    /// Makes a log.
    ///
    /// - Parameters:
    ///   - level: The least urgent level that is written.
    ///   - style: How lines look.
    ///   - repeatInterval: How long a repeated fault is held back.
    ///   - clock: Nanoseconds that never go back, and milliseconds since 1970.
    ///   - send: Takes the beginning of a line without blocking and says how many bytes it took.
    public init(
        level: LogLevel, style: LogStyle, repeatInterval: Duration = .seconds(30),
        clock: @escaping () -> (monotonic: Int64, wall: Int64),
        send: @escaping (ArraySlice<UInt8>) -> Int
    ) {
        self.level = level
        self.style = style
        limit = RepeatLimit(interval: repeatInterval)
        self.clock = clock
        self.send = send
    }

    /// Makes sure that a text never appears in the log: `<secret>` stands in its place. Texts of
    /// less than four bytes are too common to be hidden.
    public func hide(_ secret: some Sequence<UInt8>) {
        let secret = Array(secret)
        guard secret.count >= 4, !secrets.contains(secret) else { return }
        secrets.append(secret)
        secrets.sort { $0.count > $1.count }
    }

    /// Writes an event that someone must act upon.
    public func error(_ event: String, _ fields: KeyValuePairs<String, LogValue> = [:]) {
        write(.error, event, fields.map { ($0.key, $0.value) })
    }

    /// Writes an event worth knowing.
    public func warn(_ event: String, _ fields: KeyValuePairs<String, LogValue> = [:]) {
        write(.warn, event, fields.map { ($0.key, $0.value) })
    }

    /// Writes an event of the process's course.
    public func info(_ event: String, _ fields: KeyValuePairs<String, LogValue> = [:]) {
        write(.info, event, fields.map { ($0.key, $0.value) })
    }

    /// Writes an event for whoever looks closely. The fields are made only where they are wanted.
    public func debug(
        _ event: String, _ fields: @autoclosure () -> KeyValuePairs<String, LogValue> = [:]
    ) {
        guard level == .debug else { return }
        write(.debug, event, fields().map { ($0.key, $0.value) })
    }

    /// Writes an event.
    ///
    /// - Parameters:
    ///   - level: How urgent it is.
    ///   - event: Its stable name, `snake_case`.
    ///   - fields: Names and values that say more.
    public func write(
        _ level: LogLevel, _ event: String, _ fields: [(name: String, value: LogValue)] = []
    ) {
        guard level <= self.level else { return }
        let now = clock()
        let line = LogLine(level: level, event: event, fields: fields, time: now.wall)
        guard limit.admits(line, at: now.monotonic) else { return }
        put(line)
    }

    /// When `tick` has something to do, in monotonic nanoseconds; nil for never.
    public var nextTick: Int64? { limit.next }

    /// Tells of the faults that were held back and are due.
    public func tick() {
        for line in limit.due(at: clock().monotonic) { put(line) }
    }

    /// Tells of all that was held back, before the process ends.
    public func finish() {
        for line in limit.rest() { put(line) }
        tellDropped()
    }

    // MARK: - Bytes

    private func put(_ line: LogLine) {
        tellDropped()
        putBytes(of: line)
    }

    private func tellDropped() {
        guard droppedUntold > 0, flush() else { return }
        let told = droppedUntold
        droppedUntold = 0
        let fields = [(name: "count", value: LogValue(told))]
        if !putBytes(
            of: .init(level: .warn, event: "log_lines_dropped", fields: fields, time: clock().wall))
        {
            droppedUntold += told - 1
            linesDropped -= 1
        }
    }

    @discardableResult private func putBytes(of line: LogLine) -> Bool {
        guard flush() else { return drop() }
        let bytes = render(line)
        let sent = send(bytes[...])
        guard sent > 0 else { return drop() }
        unsent = bytes[sent...]
        return true
    }

    private func drop() -> Bool {
        linesDropped += 1
        droppedUntold += 1
        return false
    }

    /// Sends the end of a line whose beginning went out; whether nothing of it is left.
    private func flush() -> Bool {
        guard !unsent.isEmpty else { return true }
        unsent = unsent.dropFirst(send(unsent))
        return unsent.isEmpty
    }

    /// The line's bytes. Of one that is too long the longest texts are cut.
    private func render(_ line: LogLine) -> [UInt8] {
        var line = line
        for index in line.fields.indices {
            guard case .text(let text) = line.fields[index].value else { continue }
            line.fields[index].value = .text(withoutSecrets(text))
        }
        var bytes = style.render(line)
        var textMax = 1024
        while bytes.count > Self.lineBytesMax, textMax > 0 {
            for index in line.fields.indices {
                guard case .text(let text) = line.fields[index].value, text.utf8.count > textMax
                else { continue }
                let head = String(decoding: text.utf8.prefix(textMax), as: UTF8.self)
                line.fields[index].value = .text(head + "…")
            }
            bytes = style.render(line)
            textMax /= 2
        }
        guard bytes.count > Self.lineBytesMax else { return bytes }
        line.fields = [(name: "cut", value: .integer(Int64(line.fields.count)))]
        return style.render(line)
    }

    private func withoutSecrets(_ text: String) -> String {
        guard !secrets.isEmpty else { return text }
        let bytes = Array(text.utf8)
        var out: [UInt8] = []
        var index = 0
        var found = false
        while index < bytes.count {
            if let secret = secrets.first(where: { bytes[index...].starts(with: $0) }) {
                out += "<secret>".utf8
                index += secret.count
                found = true
            } else {
                out.append(bytes[index])
                index += 1
            }
        }
        return found ? String(decoding: out, as: UTF8.self) : text
    }
}
