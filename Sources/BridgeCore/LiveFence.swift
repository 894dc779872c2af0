internal import JSON

/// A bridge that is at work: a fence that was renewed within the last minute and not cleared.
public struct LiveFence: Equatable, Sendable, CustomStringConvertible {
    /// Whose it is.
    public var group: String
    /// How long ago it was renewed, in milliseconds.
    public var age: Int64

    /// A group whose fence was renewed within so many milliseconds is live.
    static let milliseconds: Int64 = 60_000

    /// What to do about it, in one line.
    public var description: String {
        "a bridge of group '\(group)' is live, its fence was renewed \(max(0, age / 1000)) s ago: "
            + "stop it (one that was killed counts as live for a minute)"
    }

    /// The first live one below `_firebridge/fences`, nil where there is none.
    ///
    /// - Parameters:
    ///   - date: the database's clock, in milliseconds since 1970.
    ///   - isOwn: by group, as a key, and fence: those that do not count.
    init?(in fences: JSONTape, date: Int64, except isOwn: ([UInt8], Fence) -> Bool) {
        for (key, sets) in fences.children(of: 0) {
            for (_, numbers) in fences.children(of: sets) {
                for (_, number) in fences.children(of: numbers) {
                    guard let fence = Fence(reading: fences, number), let at = fence.at,
                        !isOwn(key, fence)
                    else { continue }
                    let (age, isBeyond) = date.subtractingReportingOverflow(at)
                    // A time far ahead was written while the database's clock was wrong.
                    guard !isBeyond, (-Self.milliseconds..<Self.milliseconds).contains(age)
                    else { continue }
                    group = String(decoding: Key.unescape(key), as: UTF8.self)
                    self.age = age
                    return
                }
            }
        }
        return nil
    }

    /// The first live one, for who has read the fences as JSON.
    public init?(inJSON fences: [UInt8], date: Int64) {
        guard let tape = try? JSONParser().parse(fences) else { return nil }
        self.init(in: tape, date: date) { _, _ in false }
    }

    /// Where the fences are read.
    public static let path = StateLayout.fences
}
