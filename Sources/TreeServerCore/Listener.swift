internal import Tree
internal import TreeWire

/// One who listens at a place.
struct Listener {
    var path: Path
    var form: Form
    var caller = Caller.anonymous
    /// The places by which rules decided that he may listen, the clock aside.
    var reasons: Set<Path> = []
    var dependsOnTime = false
    /// What a query shows of the place; nil for one who sees all of it.
    var window: QueryWindow?

    /// How he is told.
    enum Form: Equatable {
        /// Server-sent events.
        case events(JSONStyle)
        /// Messages of a session, with the client's tag of a filtered listen.
        case session(SessionID, tag: Int64?)

        var showsPriorities: Bool {
            switch self {
            case .events(let style): style.priorities
            case .session: true
            }
        }
    }

    /// The value of the place as he sees it.
    mutating func view(of value: Value) -> Value { window?.fill(from: value) ?? value }
}

/// What one listener is told of one write.
struct Notice {
    /// The place that is listened to.
    var base: Path
    /// Below the base: where the value was replaced, or where what a patch names begins.
    var place: Path
    var content: Content

    enum Content {
        case put(Value)
        /// Places below `place` with their new values; never empty.
        case patch([Update.Write])
    }

    /// The notice of writes below `base`, their paths relative to it: nil where there are none.
    init?(_ writes: [Update.Write], below base: Path) {
        guard let first = writes.first else { return nil }
        self.base = base
        if writes.count == 1 {
            (place, content) = (first.path, .put(first.value))
        } else {
            (place, content) = (.root, .patch(writes))
        }
    }

    init(base: Path, place: Path, content: Content) {
        self.base = base
        self.place = place
        self.content = content
    }

    /// As the listener's form wants it.
    func rendered(for form: Listener.Form) -> [UInt8] {
        switch form {
        case .events(let style):
            var event: [UInt8] = []
            switch content {
            case .put(let value):
                event.append(event: .put, path: place, data: value.json(style))
            case .patch(let writes):
                event.append(event: .patch, path: place, data: patchJSON(writes, style))
            }
            return event
        case .session(_, let tag):
            let path = base.appending(place)
            switch content {
            case .put(let value):
                return SessionMessage.data(.replaced, at: path, value.json(.export), tag: tag)
            case .patch(let writes):
                return SessionMessage.data(.merged, at: path, patchJSON(writes, .export), tag: tag)
            }
        }
    }
}

/// `{"a/b":value,…}` of writes with relative paths.
func patchJSON(_ writes: [Update.Write], _ style: JSONStyle) -> [UInt8] {
    var out: [UInt8] = [UInt8(ascii: "{")]
    for (index, write) in writes.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        if style.pretty { out.append(contentsOf: "\n  ".utf8) }
        out.append(json: .string(write.path.joined))
        out.append(UInt8(ascii: ":"))
        if style.pretty { out.append(UInt8(ascii: " ")) }
        out.append(json: write.value, style)
    }
    if style.pretty { out.append(UInt8(ascii: "\n")) }
    out.append(UInt8(ascii: "}"))
    return out
}

extension Update.Write {
    /// The write with the path that is left below a place.
    func relative(to depth: Int) -> Update.Write {
        Update.Write(path: path.dropFirst(depth), value: value)
    }
}
