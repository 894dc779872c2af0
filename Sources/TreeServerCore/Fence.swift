internal import Tree

/// The place of a fence: `_firebridge/fences/<group>/<set>/<partition>` below the root of a bridge,
/// which may be anywhere.
///
/// A fence holds `{epoch, owner, serial, at}`. A write that would leave a lower `(epoch, serial)`
/// than it holds, or at an equal epoch another owner, comes from a bridge that was overtaken: it is
/// refused. An equal serial is a retry. Removing a fence, and replacing what lies above it, is an
/// administrator's business and allowed.
enum Fence {
    private static let names = [Array("_firebridge".utf8), Array("fences".utf8)]
    /// The two names, group, set and partition.
    private static let depth = 5

    /// How many segments of the path lead to a fence, where the path is at a fence or below.
    static func depth(in path: Path) -> Int? {
        guard path.depth >= depth else { return nil }
        for start in 0...path.depth - depth
        where path.segments[start] == names[0] && path.segments[start + 1] == names[1] {
            return start + depth
        }
        return nil
    }

    /// Whether one of the writes would overtake backwards.
    static func refuses(_ update: Update, in tree: Tree) -> Bool {
        var held: [Path: (old: Value, new: Value)] = [:]
        for write in update.writes {
            guard let depth = depth(in: write.path) else { continue }
            let fence = Path(segments: Array(write.path.segments.prefix(depth)))
            var pair = held[fence] ?? { (old: $0, new: $0) }(tree.get(fence))
            pair.new.set(write.value, at: write.path.dropFirst(depth))
            held[fence] = pair
        }
        return held.values.contains { refuses($0.new, over: $0.old) }
    }

    private static func refuses(_ new: Value, over old: Value) -> Bool {
        guard !new.isNull, !old.isNull else { return false }
        let (newEpoch, oldEpoch) = (integer(new, "epoch"), integer(old, "epoch"))
        if newEpoch != oldEpoch { return newEpoch < oldEpoch }
        return integer(new, "serial") < integer(old, "serial")
            || new[Array("owner".utf8)].plain != old[Array("owner".utf8)].plain
    }

    /// An integer, also as a decimal string; what is neither is lower than all.
    private static func integer(_ fence: Value, _ name: String) -> Int64 {
        switch fence[Array(name.utf8)].plain {
        case .int(let number): number
        case .string(let text): Int64(String(decoding: text, as: UTF8.self)) ?? .min
        default: .min
        }
    }
}
