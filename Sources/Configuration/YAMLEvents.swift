import CYAML

/// What is no YAML, or more of it than a configuration needs.
struct YAMLFailure: Error, Equatable {
    let line: Int
    let column: Int
    let message: String
}

/// libyaml's events, copied out one by one.
@safe final class YAMLEvents {
    enum Event {
        case scalar(String, isPlain: Bool)
        case alias(String)
        case sequenceStart, mappingStart
        case end
        case documentStart, documentEnd
        case streamStart, streamEnd
    }

    /// An event, what it is called by aliases, and where it begins.
    struct Item {
        let event: Event
        let anchor: String?
        let tag: String?
        let line: Int
        let column: Int
    }

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let input: UnsafeMutableBufferPointer<UInt8>

    init(_ text: [UInt8]) {
        unsafe input = .allocate(capacity: text.count)
        _ = unsafe input.initialize(from: text)
        unsafe parser = .allocate(capacity: 1)
        guard unsafe yaml_parser_initialize(parser) == 1 else { fatalError("out of memory") }
        unsafe yaml_parser_set_input_string(parser, input.baseAddress, input.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe input.deallocate()
    }

    /// The next event. Not to be asked again after `.streamEnd` or a failure.
    func next() throws(YAMLFailure) -> Item {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw failure() }
        defer { unsafe yaml_event_delete(&event) }
        var anchor: String?
        var tag: String?
        let kind: Event
        switch unsafe event.type {
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            kind = unsafe .scalar(
                String(decoding: bytes, as: UTF8.self),
                isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
            anchor = unsafe Self.text(scalar.anchor)
            tag = unsafe Self.text(scalar.tag)
        case YAML_ALIAS_EVENT:
            kind = unsafe .alias(Self.text(event.data.alias.anchor) ?? "")
        case YAML_SEQUENCE_START_EVENT:
            kind = .sequenceStart
            anchor = unsafe Self.text(event.data.sequence_start.anchor)
            tag = unsafe Self.text(event.data.sequence_start.tag)
        case YAML_MAPPING_START_EVENT:
            kind = .mappingStart
            anchor = unsafe Self.text(event.data.mapping_start.anchor)
            tag = unsafe Self.text(event.data.mapping_start.tag)
        case YAML_DOCUMENT_START_EVENT: kind = .documentStart
        case YAML_DOCUMENT_END_EVENT: kind = .documentEnd
        case YAML_STREAM_START_EVENT: kind = .streamStart
        case YAML_STREAM_END_EVENT: kind = .streamEnd
        default: kind = .end
        }
        let mark = unsafe event.start_mark
        return Item(
            event: kind, anchor: anchor, tag: tag, line: mark.line + 1, column: mark.column + 1)
    }

    private static func text(_ pointer: UnsafeMutablePointer<UInt8>?) -> String? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe String(cString: pointer)
    }

    /// libyaml's own words, in its order: what is wrong, then while doing what.
    private func failure() -> YAMLFailure {
        let problem = unsafe parser.pointee.problem.map { unsafe String(cString: $0) }
        let context = unsafe parser.pointee.context.map { unsafe String(cString: $0) }
        let message = [problem ?? "no YAML", context].compactMap(\.self).joined(separator: ", ")
        guard unsafe parser.pointee.error != YAML_READER_ERROR else {
            let offset = unsafe min(parser.pointee.problem_offset, input.count)
            return unsafe Self.failure(message, after: Array(input[..<offset]))
        }
        let mark = unsafe parser.pointee.problem_mark
        let hint = isTab(mark) ? " (a tab: YAML indents by spaces)" : ""
        return YAMLFailure(
            line: mark.line + 1, column: mark.column + 1, message: message + hint)
    }

    /// Whether a tab stands at a mark. Only spaces and tabs can stand before it where it matters,
    /// so columns are bytes.
    private func isTab(_ mark: yaml_mark_t) -> Bool {
        let lines = unsafe input.split(
            separator: UInt8(ascii: "\n"), maxSplits: mark.line, omittingEmptySubsequences: false)
        guard unsafe lines.count > mark.line, let line = unsafe lines.last else { return false }
        return unsafe line.dropFirst(mark.column).first == UInt8(ascii: "\t")
    }

    /// A failure of the decoder, which counts bytes instead of lines.
    private static func failure(
        _ message: String, after bytes: [UInt8]
    ) -> YAMLFailure {
        var line = 1
        var column = 1
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        return YAMLFailure(line: line, column: column, message: message)
    }
}
