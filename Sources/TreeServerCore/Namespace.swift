internal import Tree
internal import TreeRules
internal import TreeWire

/// One database: its tree, its rules, and who listens.
final class Namespace {
    let name: [UInt8]
    private(set) var tree = Tree()
    /// What guards it; nil leaves it open.
    var rules: Rules? {
        didSet {
            rulesChanges += 1
            hasOwnRules = true
        }
    }
    /// Whether it has been given rules, and does not go by those of the server.
    private(set) var hasOwnRules = false
    /// Counts the changes of the rules. Where it has moved, open listens must be asked for again
    /// (`mayRead`), and end where they are refused.
    private(set) var rulesChanges = 0
    private var index = ListenerIndex()
    var listeners: [StreamID: Listener] = [:]
    /// The places by which rules decided who may listen.
    var reasons = ListenerIndex()

    /// How a request changes the tree, as its listeners are told.
    enum Change {
        /// The value at the place of the request is replaced.
        case put
        /// Places below it are replaced.
        case patch
    }

    /// Takes what one listener is to be told.
    typealias Emit = (StreamID, Listener.Form, [UInt8]) -> Void

    init(name: [UInt8], rules: Rules?) {
        self.name = name
        self.rules = rules
    }

    /// Lets one listen; what he sees at first.
    func open(_ id: StreamID, _ listener: Listener, at now: Int64) -> Value {
        var listener = listener
        let value = listener.view(of: tree.get(listener.path))
        listeners[id] = listener
        index.insert(id, at: listener.path)
        _ = keepsAccess(id, at: now)
        return value
    }

    func close(_ id: StreamID) {
        guard let listener = listeners.removeValue(forKey: id) else { return }
        index.remove(id, at: listener.path)
        for path in listener.reasons { reasons.remove(id, at: path) }
    }

    func listener(_ id: StreamID) -> Listener? { listeners[id] }

    /// Applies the writes of one request at `place`, and tells each listener that they touch once.
    ///
    /// - Parameter revoke: takes those who may no longer listen; they must be closed by it.
    func apply(
        _ update: Update, at place: Path, as change: Change, now: Int64, emit: Emit,
        revoke: (StreamID) -> Void
    ) {
        guard !index.isEmpty else {
            tree.apply(update)
            return
        }
        let above = index.atOrAbove(place).sorted()
        let below = index.touched(below: place, by: update.writes).sorted { $0.key < $1.key }
        let before = views(of: above, replacedAt: change == .put ? place : nil)
            .merging(views(of: below.filter(\.value.isReplaced).map(\.key))) { a, _ in a }
        tree.apply(update)
        // Before anything is sent: who loses access by this write does not see it.
        for id in listenersLosingAccess(by: update, at: now) { revoke(id) }
        var news = News(update: update, place: place, change: change)
        for id in above {
            guard let listener = listeners[id] else { continue }
            if listener.window != nil {
                tell(id, listener, update.writes, before[id], emit)
            } else if let message = news.message(for: listener) {
                emit(id, listener.form, message)
            }
        }
        for (id, touch) in below {
            guard let listener = listeners[id] else { continue }
            let writes = touch.writes.map { update.writes[$0] }
            if listener.window != nil {
                tell(id, listener, writes, before[id], emit)
            } else if touch.isReplaced {
                let value = tree.get(listener.path)
                let isNamed = update.writes.contains { $0.path == listener.path }
                if isNamed || value != before[id] {
                    emit(id, listener.form, whole(value, listener))
                }
            } else if let message = clipped(writes, listener) {
                emit(id, listener.form, message)
            }
        }
    }

    /// Changes the tree as it was changed once, when nobody listens yet.
    func restore(_ change: (inout Tree) -> Void) { change(&tree) }

    /// What listeners see before a write: those with a window at the place that is replaced.
    private func views(of ids: [StreamID], replacedAt place: Path?) -> [StreamID: Value] {
        views(
            of: ids.filter { id in
                listeners[id].map { $0.window != nil && $0.path == place } ?? false
            })
    }

    private func views(of ids: [StreamID]) -> [StreamID: Value] {
        var found: [StreamID: Value] = [:]
        for id in ids {
            guard let listener = listeners[id] else { continue }
            let value = tree.get(listener.path)
            found[id] = listener.window?.view(of: value) ?? value
        }
        return found
    }

    /// Tells a listener with a window what has changed in it.
    ///
    /// - Parameter before: what he saw, where his whole place was replaced.
    private func tell(
        _ id: StreamID, _ listener: Listener, _ writes: [Update.Write], _ before: Value?,
        _ emit: Emit
    ) {
        guard var window = listener.window else { return }
        listeners[id]?.window = nil  // so that the rows change in place
        let value = tree.get(listener.path)
        if let before {
            let view = window.fill(from: value)
            if view != before { emit(id, listener.form, whole(view, listener)) }
        } else {
            let changes = window.apply(
                writes.map { $0.relative(to: listener.path.depth) }, leaving: value,
                showsPriorities: listener.form.showsPriorities)
            if let notice = Notice(changes, below: listener.path) {
                emit(id, listener.form, notice.rendered(for: listener.form))
            }
        }
        listeners[id]?.window = window
    }

    private func whole(_ value: Value, _ listener: Listener) -> [UInt8] {
        Notice(base: listener.path, place: .root, content: .put(value)).rendered(for: listener.form)
    }

    /// A PATCH above a listener, of which only some keys lie below him: always one patch.
    private func clipped(_ writes: [Update.Write], _ listener: Listener) -> [UInt8]? {
        let shown = visible(writes, listener.form).map { $0.relative(to: listener.path.depth) }
        guard !shown.isEmpty else { return nil }
        let notice = Notice(base: listener.path, place: .root, content: .patch(shown))
        return notice.rendered(for: listener.form)
    }
}

/// The writes that one sees who may not be shown priorities.
private func visible(_ writes: [Update.Write], _ form: Listener.Form) -> [Update.Write] {
    form.showsPriorities ? writes : writes.filter { !$0.path.isPriorityPlace }
}

/// The messages of a change for its listeners at and above its place, each rendered once for all
/// who are told the same.
private struct News {
    let update: Update
    let place: Path
    let change: Namespace.Change
    private var known: [(depth: Int, form: Listener.Form, message: [UInt8]?)] = []

    init(update: Update, place: Path, change: Namespace.Change) {
        self.update = update
        self.place = place
        self.change = change
    }

    mutating func message(for listener: Listener) -> [UInt8]? {
        var depth = listener.path.depth
        var form = listener.form
        if case .session(_, let tag) = form {
            // Sessions are told whole paths: the same for all, wherever they listen.
            depth = 0
            form = .session(SessionID(number: 0), tag: tag)
        }
        if let same = known.first(where: { $0.depth == depth && $0.form == form }) {
            return same.message
        }
        let message = render(listener)
        known.append((depth, form, message))
        return message
    }

    private func render(_ listener: Listener) -> [UInt8]? {
        let writes = visible(update.writes, listener.form)
        guard let first = writes.first else { return nil }
        let content: Notice.Content =
            switch change {
            case .put: .put(first.value)
            case .patch: .patch(writes.map { $0.relative(to: place.depth) })
            }
        let notice = Notice(
            base: listener.path, place: place.dropFirst(listener.path.depth), content: content)
        return notice.rendered(for: listener.form)
    }
}

extension StreamID: Comparable {
    /// Whether `a` was opened before `b`.
    public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}
