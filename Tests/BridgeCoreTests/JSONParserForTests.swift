import JSON

/// Reads the JSON of tests.
enum JSONParserForTests {
    static func parse(_ text: String) throws -> JSONTape { try JSONParser().parse(Array(text.utf8)) }

    static func parse(_ text: [UInt8]) throws -> JSONTape { try JSONParser().parse(text) }
}
