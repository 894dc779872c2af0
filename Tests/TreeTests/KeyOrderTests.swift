import Testing

@testable import Tree

@Suite struct KeyOrderTests {
    @Test func integersComeFirstByNumberThenTheOthersByUTF16() {
        let names = [
            "-2147483648", "-10", "-2", "-1", "0", "-0", "00", "-00", "1", "01", "001", "2", "9",
            "10",
            "100", "2147483647", "-", "--1", "-2147483649", "1a", "2147483648", "A", "a", "a1",
            "e\u{301}", "é", "\u{D7FF}", "\u{1F642}", "\u{E000}", "\u{FFFD}",
        ]
        let keys = names.map { ChildKey(Array($0.utf8)) }
        for (a, x) in keys.enumerated() {
            for (b, y) in keys.enumerated() {
                let order = x.order(y)
                #expect((order < 0) == (a < b) && (order > 0) == (a > b), "\(names[a]) \(names[b])")
            }
        }
    }

    @Test(arguments: ["0", "7", "-7", "2147483647", "-2147483648"])
    func canonicalIntegersTakeNoMemoryAndKeepTheirBytes(_ name: String) {
        let key = ChildKey(Array(name.utf8))
        guard case .number = key.form else {
            Issue.record("\(name) is kept as a text")
            return
        }
        #expect(String(decoding: key.bytes, as: UTF8.self) == name)
    }

    @Test(arguments: ["", "00", "01", "-0", "-", "+1", "1.0", "2147483648", "-2147483649", "1 "])
    func otherNamesAreTexts(_ name: String) {
        let key = ChildKey(Array(name.utf8))
        #expect(key.form == .text(Array(name.utf8)))
        #expect(key.bytes == Array(name.utf8))
    }

    @Test func twinsOfUnicodeAreTwoNames() {
        #expect(ChildKey(Array("é".utf8)) != ChildKey(Array("e\u{301}".utf8)))
    }
}
