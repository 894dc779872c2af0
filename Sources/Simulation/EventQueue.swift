/// What will happen, in order of time; at the same time in the order in which it was planned.
struct EventQueue {
    private struct Event {
        var time: Int64
        var number: Int
        var action: () -> Void

        func isBefore(_ other: Event) -> Bool { (time, number) < (other.time, other.number) }
    }

    /// A binary heap: no event lies before its parent.
    private var heap: [Event] = []
    private var planned = 0

    mutating func add(at time: Int64, _ action: @escaping () -> Void) {
        planned += 1
        heap.append(Event(time: time, number: planned, action: action))
        var index = heap.count - 1
        while index > 0, heap[index].isBefore(heap[(index - 1) / 2]) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func next() -> (time: Int64, action: () -> Void)? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return (first.time, first.action)
    }

    private mutating func sink() {
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].isBefore(heap[least]) {
                least = child
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }

    /// Forgets everything, and with it all that the actions hold.
    mutating func removeAll() { heap = [] }
}
