import Oracle
import Testing

@testable import BridgeCore

/// Numbers of guards, of any size.
@Suite struct ExactDecimalTests {
    private func number(_ text: String) throws -> ExactDecimal {
        try #require(ExactDecimal(Array(text.utf8)), "\(text)")
    }

    @Test("Numbers rise as their values do, however they are written")
    func order() throws {
        let rising = [
            ["-1e30"], ["-18446744073709551616"], ["-2", "-0.2e1", "-20E-1"], ["-0.001"],
            ["0", "-0", "0.000", "0e9", "000"], ["1e-400"], ["0.001", "1e-3", "00.0010"],
            ["0.01"], ["1.5"], ["2", "2.0", "002"], ["18446744073709551615"],
            ["18446744073709551616"], ["1e400"],
        ]
        for (place, texts) in rising.enumerated() {
            for (other, more) in rising.enumerated() {
                for (one, two) in texts.flatMap({ one in more.map { (one, $0) } }) {
                    #expect(try (number(one) < number(two)) == (place < other), "\(one) \(two)")
                    #expect(try (number(one) == number(two)) == (place == other), "\(one) \(two)")
                }
            }
        }
    }

    @Test("Integers keep their order, and a number its value when it is kept and read again")
    func integers() throws {
        var random = SplitMix64(seed: 7)
        for _ in 0..<500 {
            let one = Int64(bitPattern: random.next()) >> random.int(0..<64)
            let two = Int64(bitPattern: random.next()) >> random.int(0..<64)
            #expect((ExactDecimal(one) < ExactDecimal(two)) == (one < two), "\(one) \(two)")
            let kept = ExactDecimal(one).json
            #expect(ExactDecimal(kept) == ExactDecimal(one), "\(one)")
            _ = try JSONParserForTests.parse(kept)
        }
    }

    @Test(
        "What is no number is none", arguments: ["", "-", ".", "a", "1a", "1.2.3", "1e", "1e9e9"])
    func noNumber(_ text: String) {
        #expect(ExactDecimal(Array(text.utf8)) == nil)
    }
}
