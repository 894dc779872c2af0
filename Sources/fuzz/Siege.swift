internal import EventLoop
internal import Fuzzing

/// Odd clients around a running tree, dozens at a time; it must live, answer everybody who has a
/// right to it, and stay as small as it was.
struct Siege {
    private let options: Options
    private let kind: VisitKind
    private let tree: TreeProcess
    private var guests: [Guest] = []
    private var failures = 0
    private var (visits, answers, errors, messages) = (0, 0, 0, 0)

    private static let guestsMax = 96
    /// More than any of the fuzzer's bodies can leave in it.
    private static let residentMiBMax = 1024

    init(_ options: Options, _ kind: VisitKind) {
        self.options = options
        self.kind = kind
        SignalDescriptor.ignoreBrokenPipes()
        tree = TreeProcess(options.program, flags: options.treeFlags)
    }

    /// - Returns: the exit code.
    mutating func run() -> Int32 {
        var probe = Probe(port: tree.port)
        let began = seconds()
        var told = began - 10
        var (seed, biggest) = (options.seed, tree.residentMiB)
        say("the tree has \(biggest) MiB")
        while failures < 10, tree.isAlive {
            let now = seconds()
            let isOver = now - began > options.seconds || seed >= options.seed + options.rounds
            if isOver, guests.isEmpty { break }
            while !isOver, guests.count < Self.guestsMax, seed < options.seed + options.rounds {
                guests.append(Guest(kind, seed, port: tree.port, trace: options.isTracing))
                seed += 1
            }
            for guest in guests { guest.turn(at: now) }
            dismiss()
            probe.turn(at: now)
            tree.turn()
            if now - told >= 5 {
                told = now
                biggest = max(biggest, tree.residentMiB)
                say("seed \(seed), \(status), slowest probe \(milliseconds(probe.slowest)) ms")
            }
            _ = Poll.wait(for: guests.map(\.number) + [probe.number], timeout: .milliseconds(2))
        }
        for breach in probe.breaches { wrong(breach) }
        if !tree.isAlive { wrong("the tree is dead before seed \(seed): \(tree.lastLines)") }
        if biggest > Self.residentMiBMax { wrong("the tree had \(biggest) MiB") }
        say(
            "\(status) at its end, \(biggest) MiB at most, slowest probe "
                + "\(milliseconds(probe.slowest)) ms, \(failures) wrong")
        return failures == 0 ? 0 : 1
    }

    private var status: String {
        "\(visits) visits, \(answers) answers (\(errors) errors), \(messages) messages, the tree has "
            + "\(tree.residentMiB) MiB"
    }

    private func milliseconds(_ seconds: Double) -> Int { Int(seconds * 1000) }

    private mutating func wrong(_ what: String) {
        failures += 1
        say(what)
    }

    private mutating func dismiss() {
        for guest in guests where guest.isDone {
            visits += 1
            answers += guest.answers.count
            errors += guest.answers.errors
            messages += guest.answers.messages
            for breach in guest.breaches.prefix(3) { wrong("seed \(guest.seed): \(breach)") }
        }
        guests.removeAll { $0.isDone }
    }
}

/// One odd client.
private final class Guest {
    let seed: UInt64
    private(set) var answers: Answers
    private(set) var isDone = false
    private let visit: Visit
    private let connection: Connection
    private var rest: ArraySlice<[UInt8]>
    private var sentAt: Double
    private var isTold = false
    private let isTracing: Bool
    private var own: [String] = []

    /// How long one waits for what nobody owes him.
    private static let patience = 0.03
    /// How long a silent client stays.
    private static let lingering = 1.0
    /// How long an answer may take that is due.
    private static let answerSecondsMax = 20.0

    init(_ kind: VisitKind, _ seed: UInt64, port: UInt16, trace: Bool) {
        self.seed = seed
        visit = Visit(kind, seed: seed)
        connection = Connection(port: port)
        answers = Answers(isHead: visit.isHead)
        rest = visit.pieces[...]
        sentAt = seconds()
        isTracing = trace
    }

    var number: Int32 { connection.number }
    var breaches: [String] { answers.breaches + own }

    func turn(at now: Double) {
        let came = connection.turn()
        if isTracing, !came.isEmpty { say("< \(String(decoding: came, as: UTF8.self))") }
        answers.take(came)
        if connection.isOver { return leave() }
        guard connection.isIdle else {
            if now - sentAt > Self.answerSecondsMax { leave() }
            return
        }
        let silence = now - sentAt
        if let piece = rest.first {
            // Later polls name the session that the first one has been given.
            let waits = visit.asksForSession && rest.count < visit.pieces.count
            if waits, answers.session == nil, silence < 1 { return }
            rest = rest.dropFirst()
            sentAt = now
            send(piece.replacing(Visit.sessionMark, with: answers.session ?? []))
        } else if answers.count < visit.answersDue {
            guard silence > Self.answerSecondsMax else { return }
            own.append("\(answers.count) answers of \(visit.answersDue)")
            leave()
        } else if visit.ending == .halfClose, !isTold {
            isTold = true
            connection.endSending()
        } else if silence > (visit.ending == .linger ? Self.lingering : Self.patience) {
            leave()
        }
    }

    private func send(_ bytes: [UInt8]) {
        if isTracing { say("> \(String(decoding: bytes, as: UTF8.self))") }
        connection.send(bytes)
    }

    private func leave() {
        isDone = true
        connection.close(resets: visit.ending == .reset)
    }
}
