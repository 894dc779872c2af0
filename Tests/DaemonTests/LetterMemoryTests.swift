import BridgeCore
import Testing

@testable import Daemon

@Suite("The memory of replayed letters") struct LetterMemoryTests {
    private let partition = TopicPartition("letters", 0)

    @Test("A letter that was left when there was no room is not taken for replayed later")
    func full() {
        var letters = ReplayedLetters(committed: 0, metadata: "", low: 0, topics: ["mapped"])
        // As many ranges as fit once, and not twice.
        for offset in stride(from: Int64(11), to: 1600, by: 2) {
            letters.note(offset, of: "mapped")
        }
        #expect(letters.fits)
        var memory = LetterMemory(isKept: true)
        memory.begin(partition, with: letters)
        memory.pass(1, of: "unmapped", in: partition)
        for offset in stride(from: Int64(10), to: 1600, by: 2) {
            let hasRoom = memory.plan(offset, of: "mapped", in: partition)
            #expect(hasRoom)
            memory.note(offset, of: "mapped", in: partition)
        }
        memory.pass(5, of: "unmapped", in: partition)
        #expect(!memory.contains(1, of: "unmapped", in: partition))
        #expect(memory.contains(11, of: "mapped", in: partition))
    }
}
