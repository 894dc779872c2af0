import Testing

@testable import TreeRules

@Suite("Regular expressions") struct RegularExpressionTests {
    private func matches(_ pattern: String, _ text: String, i: Bool = false) -> Bool? {
        var budget = 1_000_000
        return (try? RegularExpression(Array(pattern.utf8), ignoringCase: i))?
            .matches(Array(text.utf8), budget: &budget)
    }

    @Test(
        "Patterns match where they should",
        arguments: [
            ("bar", "foobarbaz", true), ("^bar", "foobar", false), ("bar$", "foobar", true),
            ("^bar$", "bar", true), ("^bar$", "bars", false), ("a*", "", true), ("^a+$", "", false),
            ("^a?$", "a", true), ("^a{2,3}$", "aa", true), ("^a{2,3}$", "aaaa", false),
            ("^a{2}$", "aaa", false), ("^a{2,}$", "aaaaa", true), ("^a{0,1}b$", "b", true),
            ("^(ab|cd)+$", "abcdab", true), ("^(ab|cd)+$", "abc", false), ("a|b|", "x", true),
            ("^[a-z0-9_-]+$", "a-b_9", true), ("^[a-z]+$", "aB", false), ("^[^a-z]$", "a", false),
            ("^[^a-z]$", "B", true), ("^[\\]\\-a]+$", "]-a", true), ("^[a-]+$", "-a", true),
            ("^\\d{3}-\\d{4}$", "555-1234", true), ("\\s", "a b", true), ("^\\S+$", "a b", false),
            ("^\\w+$", "az_AZ09", true), ("\\W", "a", false), ("^[\\W]$", "-", true),
            ("^[\\d\\s]+$", "1 2", true), ("^.$", "é", true), ("^.$", "😀", true),
            ("^.$", "\n", false),
            ("^a.c$", "abc", true), ("\\.", "abc", false), ("\\/\\*", "a/*", true),
            ("^[ä-ü]$", "ö", true), ("^\\(\\)$", "()", true), ("(a*)*b", "aaab", true),
            ("^(a|aa)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false),
            ("^((a{3}){3}){3}$", "aaaaaaaaaaaaaaaaaaaaaaaaaaa", true), ("^a|b$", "ab", true),
            ("\\t\\n", "\t\n", true), ("}", "}", true), ("^(?:a)$", "?:a", true),
            ("^(?:a)$", "a", false), ("]", "]", true),
            ("^[A-Z0-9._%+-]+@[A-Z0-9.-]+\\.[A-Z]{2,4}$", "A.B@EXAMPLE.ORG", true),
        ] as [(String, String, Bool)])
    func matching(pattern: String, text: String, expected: Bool) {
        #expect(matches(pattern, text) == expected)
    }

    @Test("With the flag i, upper and lower case are one")
    func ignoringCase() {
        #expect(matches("^bar$", "BAR", i: true) == true)
        #expect(matches("^BÄR$", "bär", i: true) == true)
        #expect(matches("^[A-F]+$", "abF", i: true) == true)
        #expect(matches("^[a-f]+$", "abF", i: true) == true)
        #expect(matches("^[^A-F]+$", "a", i: true) == false)
        #expect(matches("^[X]$", "x", i: true) == true)
        #expect(matches("^[0-Z]$", "q", i: true) == true)
        #expect(matches("^\\w$", "Q", i: true) == true)
        #expect(matches("^[\\w]$", "Q", i: true) == true)
        #expect(matches("^bar$", "BAR") == false)
    }

    @Test(
        "What is no pattern of the language is refused",
        arguments: [
            "", "(", ")", "(a", "a)", "[", "[a", "[]", "[b-a]", "*", "+a", "a**", "a{", "a{x}",
            "a{2,1}", "a{1001}", "a{1", "a^b", "a$b", "$*", "^*", "\\", "\\b",
            "\\1", "[\\", "((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))",
            "((a{100}){100}){100}", "(((){1000}){1000}){1000}", "a{99999999999999999999}", "?",
        ])
    func refused(pattern: String) {
        #expect(matches(pattern, "a") == nil)
    }
}
