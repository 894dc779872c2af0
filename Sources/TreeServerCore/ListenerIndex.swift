internal import Tree

/// Which streams listen where: a tree of places, so that a write meets only the streams on its way.
struct ListenerIndex {
    private final class Node {
        var streams: Set<StreamID> = []
        var children: [[UInt8]: Node] = [:]
    }

    private let root = Node()
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func insert(_ stream: StreamID, at path: Path) {
        var node = root
        for segment in path.segments {
            let child = node.children[segment] ?? Node()
            node.children[segment] = child
            node = child
        }
        node.streams.insert(stream)
        count += 1
    }

    mutating func remove(_ stream: StreamID, at path: Path) {
        var way = [root]
        for segment in path.segments {
            guard let child = way.last?.children[segment] else { return }
            way.append(child)
        }
        guard way.last?.streams.remove(stream) != nil else { return }
        count -= 1
        for (node, segment) in zip(way.dropFirst(), path.segments).reversed() {
            guard node.streams.isEmpty, node.children.isEmpty else { return }
            way.removeLast()
            way.last?.children[segment] = nil
        }
    }

    /// The streams at the place and above it.
    func atOrAbove(_ path: Path) -> [StreamID] {
        var found = Array(root.streams)
        var node = root
        for segment in path.segments {
            guard let child = node.children[segment] else { break }
            found.append(contentsOf: child.streams)
            node = child
        }
        return found
    }

    /// What writes mean for a stream that listens below the place of the request.
    struct Touch {
        /// A write replaces the whole place that is listened to, or what lies above it.
        var isReplaced = false
        /// The indexes of the writes below it.
        var writes: [Int] = []
    }

    /// The streams strictly below a place that writes touch.
    ///
    /// - Parameter writes: whole paths, each at or below `place`.
    func touched(below place: Path, by writes: [Update.Write]) -> [StreamID: Touch] {
        var node = root
        for segment in place.segments {
            guard let child = node.children[segment] else { return [:] }
            node = child
        }
        var found: [StreamID: Touch] = [:]
        guard !node.children.isEmpty else { return found }
        for (index, write) in writes.enumerated() {
            touch(node, write.path.segments[place.depth...], index, &found)
        }
        return found
    }

    private func touch(
        _ start: Node, _ segments: ArraySlice<[UInt8]>, _ index: Int,
        _ found: inout [StreamID: Touch]
    ) {
        var node = start
        for (offset, segment) in segments.enumerated() {
            guard let child = node.children[segment] else { return }
            node = child
            if offset < segments.count - 1 {
                for stream in node.streams { found[stream, default: Touch()].writes.append(index) }
            }
        }
        replace(node, includingItself: node !== start, &found)
    }

    private func replace(_ node: Node, includingItself: Bool, _ found: inout [StreamID: Touch]) {
        if includingItself {
            for stream in node.streams { found[stream, default: Touch()].isReplaced = true }
        }
        for child in node.children.values { replace(child, includingItself: true, &found) }
    }
}
