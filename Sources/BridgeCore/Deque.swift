/// A queue in one array: append at the back, pop at the front, both in constant time on average.
struct Deque<Element> {
    private var slots: [Element?] = []
    private var head = 0

    var count: Int { slots.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Element? { isEmpty ? nil : slots[head] }

    mutating func append(_ element: Element) { slots.append(element) }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = slots[head]
        slots[head] = nil
        head += 1
        if head == slots.count {
            slots.removeAll(keepingCapacity: head <= 4096)
            head = 0
        } else if head > 1024, head * 2 > slots.count {
            slots.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Puts elements before all others, in their order.
    mutating func prepend(_ elements: [Element]) {
        slots.replaceSubrange(0..<head, with: elements.map(Optional.some))
        head = 0
    }

    mutating func removeAll() {
        slots = []
        head = 0
    }

    /// Removes what does not satisfy `condition`.
    mutating func keep(where condition: (Element) -> Bool) {
        slots = slots[head...].filter { $0.map(condition) ?? false }
        head = 0
    }

    mutating func replaceFirst(with element: Element) { slots[head] = element }
}

extension Deque: Sequence {
    func makeIterator() -> some IteratorProtocol<Element> {
        slots[head...].lazy.compactMap { $0 }.makeIterator()
    }
}
