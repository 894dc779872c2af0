internal import JSON

extension RecordReader {
    /// The path of a node: keys joined by `/`.
    func render(
        _ template: Template, conversation: [UInt8]?, sequence: Int64?, run: [UInt8]?,
        eventName: [UInt8]?
    ) throws(Rejection) -> [UInt8] {
        var path: [UInt8] = []
        path.reserveCapacity(96)
        for (index, segment) in template.segments.enumerated() {
            if index > 0 { path.append(UInt8(ascii: "/")) }
            let start = path.count
            for part in segment {
                switch part {
                case .literal(let bytes): path.append(contentsOf: bytes)
                case .place(.field("conversation_id")) where conversation != nil:
                    path.append(contentsOf: conversation!)
                case .place(.field("event_name")) where eventName != nil:
                    path.append(contentsOf: eventName!)
                case .place(.field("run_id")) where run != nil:
                    path.append(contentsOf: Key.escape(run!))
                case .place(.field("message_sequence")) where sequence != nil:
                    path.appendDecimal(sequence!)
                case .place(let place): path.append(contentsOf: Key.escape(try text(of: place)))
                }
            }
            let length = path.count - start
            guard length > 0, length <= Key.bytesMax else {
                throw Rejection(
                    .invalidPath,
                    "'\(template)', segment \(index + 1): expected 1 to \(Key.bytesMax) bytes, "
                        + "found \(length)")
            }
        }
        return path
    }

    private func text(of place: Template.Place) throws(Rejection) -> [UInt8] {
        guard let origin else { preconditionFailure("a chunk's record renders no template") }
        switch place {
        case .key:
            guard let key else { throw unfilled("{key}", "the record has no key") }
            return try utf8(key, "{key}")
        case .topic: return Array(origin.source.topic.utf8)
        case .partition: return Array(String(origin.source.partition).utf8)
        case .offset: return Array(String(origin.record.offset).utf8)
        case .header(let name):
            guard
                let header = origin.record.headers.last(where: {
                    $0.name.utf8.elementsEqual(name.utf8)
                }),
                let value = header.value
            else { throw unfilled("{header.\(name)}", "the record has no such header") }
            return try utf8(value, "{header.\(name)}")
        case .pointer(let pointer): return try scalar(pointer.find(in: tape), "{\(pointer)}")
        case .field(let name):
            guard let pointer = mapping.mapping.fields[name] else {
                throw unfilled("{\(name)}", "the record has no such field")
            }
            return try scalar(pointer.find(in: tape), "{\(name)}")
        }
    }

    // A string's text, or a number or boolean as JSON writes it; integers in plain decimals.
    private func scalar(_ value: Int?, _ place: String) throws(Rejection) -> [UInt8] {
        guard let value, tape.kind(value) != .null else {
            if origin?.record.value == nil {
                throw Rejection(
                    .nullValue, "\(place): expected a value to fill the path, found a tombstone")
            }
            throw unfilled(place, "the record has none")
        }
        switch tape.kind(value) {
        case .string:
            guard !tape.tokens[value].hasLoneSurrogate else {
                throw Rejection(
                    .invalidField, "\(place): expected text without unpaired surrogates")
            }
            return tape.text(value)
        case .number:
            if let integer = tape.int64(value) { return Array(String(integer).utf8) }
            return Array(tape.raw(value))
        case .true, .false: return Array(tape.raw(value))
        default: throw invalid(place, "a string, number or boolean", value)
        }
    }

    private func unfilled(_ place: String, _ why: String) -> Rejection {
        Rejection(.missingField, "\(place): expected a value to fill the path, but \(why)")
    }

    private func utf8(_ bytes: [UInt8], _ place: String) throws(Rejection) -> [UInt8] {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw Rejection(.invalidField, "\(place): expected UTF-8")
        }
        return bytes
    }
}
