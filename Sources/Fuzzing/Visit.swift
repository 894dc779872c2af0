internal import Oracle

/// What an odd client does with one connection to a tree. All of it follows from a seed.
public struct Visit: Sendable {
    /// How the client leaves.
    public enum Ending: Sendable {
        /// It closes the connection.
        case leave
        /// It resets it.
        case reset
        /// It says that it sends no more, and waits for what comes.
        case halfClose
        /// It stays silent with the connection open.
        case linger
    }

    /// What it sends: piece by piece, so that the server sees them one by one.
    public var pieces: [[UInt8]] = []
    /// How it leaves.
    public var ending = Ending.leave
    /// How many whole answers it has a right to, where the connection stays open.
    public var answersDue = 0
    /// Whether its requests are answered without bodies.
    public var isHead = false
    /// Whether it first asks for a polling session: later pieces name it by `sessionMark`.
    public var asksForSession = false

    /// What stands for a polling session's name and password.
    public static let sessionMark = Array("{session}".utf8)
}

/// What odd clients speak.
public enum VisitKind: String, Sendable {
    /// Requests.
    case rest
    /// Frames.
    case socket
    /// Long polls.
    case poll
}

/// Makes visits of one seed.
struct VisitMaker {
    var mutator: Mutator

    init(seed: UInt64) { mutator = Mutator(seed: seed) }

    mutating func pick<Element>(_ elements: [Element]) -> Element { mutator.random.pick(elements) }
    mutating func chance(_ probability: Double) -> Bool { mutator.random.chance(probability) }
    mutating func int(_ range: Range<Int>) -> Int { mutator.random.int(range) }

    mutating func bytes(_ range: Range<Int>) -> [UInt8] {
        (0..<int(range)).map { _ in UInt8(truncatingIfNeeded: mutator.random.next()) }
    }

    mutating func make(_ kind: VisitKind) -> Visit {
        var visit =
            switch kind {
            case .rest: requests()
            case .socket: socket()
            case .poll: polls()
            }
        visit.ending = pick([.leave, .leave, .leave, .leave, .leave, .reset, .halfClose, .linger])
        return visit
    }

    /// Some bytes of it are other ones, or its end is missing.
    mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<pick([1, 1, 2, 5]) { bytes = mutator.corrupted(bytes) }
        return bytes
    }

    /// Cut at any byte.
    mutating func cut(_ bytes: [UInt8]) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        for _ in 0..<pick([0, 0, 0, 1, 2, 5]) where rest.count > 1 {
            let count = int(1..<rest.count)
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces + [Array(rest)]
    }
}

extension Visit {
    /// The visit of a seed.
    public init(_ kind: VisitKind, seed: UInt64) {
        var maker = VisitMaker(seed: seed)
        self = maker.make(kind)
    }
}
