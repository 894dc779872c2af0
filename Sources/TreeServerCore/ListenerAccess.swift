internal import Tree
internal import TreeRules

// Who may go on listening.
extension Namespace {
    /// Whether rules still allow one to listen; remembers by what they decided.
    func keepsAccess(_ id: StreamID, at now: Int64) -> Bool {
        guard let rules, let listener = listeners[id], !listener.caller.isAdmin else { return true }
        let grant = rules.readGrant(
            listener.path, query: RuleQuery(listener.window?.query), auth: listener.caller.auth,
            now: now, in: tree)
        guard let grant else { return false }
        listeners[id]?.dependsOnTime = grant.usesNow
        if grant.lookedAt != listener.reasons {
            for path in listener.reasons { reasons.remove(id, at: path) }
            for path in grant.lookedAt { reasons.insert(id, at: path) }
            listeners[id]?.reasons = grant.lookedAt
        }
        return true
    }

    /// Whether one may go on listening who is somebody else now.
    func keepsAccess(_ id: StreamID, as caller: Caller, at now: Int64) -> Bool {
        listeners[id]?.caller = caller
        return keepsAccess(id, at: now)
    }

    /// Those whom rules no longer allow to listen.
    func listenersLosingAccess(at now: Int64) -> [StreamID] {
        listeners.keys.sorted().filter { !keepsAccess($0, at: now) }
    }

    /// Whether time has taken one's access.
    func hasLostAccess(_ id: StreamID, at now: Int64) -> Bool {
        listeners[id]?.dependsOnTime == true && !keepsAccess(id, at: now)
    }

    /// Those whom rules no longer allow to listen after a write to what they decided by.
    func listenersLosingAccess(by update: Update, at now: Int64) -> [StreamID] {
        guard !reasons.isEmpty else { return [] }
        let touched = reasons.touched(below: .root, by: update.writes)
        return touched.keys.sorted().filter { !keepsAccess($0, at: now) }
            + reasons.atOrAbove(.root).filter {
                touched[$0] == nil && !keepsAccess($0, at: now)
            }
    }
}
