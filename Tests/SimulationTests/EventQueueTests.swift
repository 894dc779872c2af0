import Oracle
import Testing

@testable import Simulation

@Suite("The queue of events")
struct EventQueueTests {
    @Test("Gives them in order of time, and those of one time as they were planned")
    func ordered() {
        var random = SplitMix64(seed: 1)
        var queue = EventQueue()
        var planned: [(time: Int64, number: Int)] = []
        var happened: [Int] = []
        for number in 0..<1_000 {
            let time = Int64(random.int(0..<50))
            planned.append((time, number))
            queue.add(at: time) { happened.append(number) }
        }
        while let event = queue.next() { event.action() }
        #expect(
            happened == planned.sorted { ($0.time, $0.number) < ($1.time, $1.number) }.map(\.number)
        )
    }
}
