/// Decides which fault a request meets: pure, so that a seed makes the same faults each time.
public struct FaultEngine: Sendable {
    /// What decides.
    public let plan: FaultPlan
    private let began: Int64
    private var random: UInt64
    private var fitting: [Int]
    private var met: [Int]
    private var writes = Quota(window: 1000)
    private var bytes = Quota(window: 60_000)
    /// How many requests were judged.
    public private(set) var requests = 0

    /// Writes that would wait longer are refused, in milliseconds: the hosted database queues, and
    /// answers 503 at last.
    static let waitMax: Int64 = 30_000

    /// Begins with a plan; times count from `now`, in milliseconds of any clock that never falls.
    public init(_ plan: FaultPlan = FaultPlan(), at now: Int64) {
        self.plan = plan
        began = now
        random = plan.seed
        fitting = plan.rules.map { _ in 0 }
        met = fitting
    }

    /// How often each rule has met a request.
    public var hits: [(name: String, count: Int)] { zip(plan.rules, met).map { ($0.name, $1) } }

    /// What becomes of a request; an action that does nothing where it meets no fault.
    public mutating func verdict(for request: FaultRequest, at now: Int64) -> FaultAction {
        requests += 1
        var action = fault(for: request, at: now)
        if action.jitter > 0 { action.delay += Int64(fraction() * Double(action.jitter + 1)) }
        guard request.isWrite, action.reachesTree else { return action }
        let wait = max(
            writes.wait(for: 1, of: plan.writesPerSecond, at: now),
            bytes.wait(for: request.body.count, of: plan.writeBytesPerMinute, at: now))
        guard wait <= Self.waitMax else {
            var refused = FaultAction()
            refused.reply = FaultAction.Reply(503)
            return refused
        }
        action.delay += wait
        return action
    }

    private mutating func fault(for request: FaultRequest, at now: Int64) -> FaultAction {
        for (index, rule) in plan.rules.enumerated() {
            let condition = rule.condition
            guard condition.fits(request, after: now - began) else { continue }
            fitting[index] += 1
            let number = fitting[index] - condition.skip
            guard number > 0, (number - 1) % condition.every == 0,
                met[index] < condition.times ?? .max,
                condition.chance >= 1 || fraction() < condition.chance
            else { continue }
            met[index] += 1
            return rule.action
        }
        return FaultAction()
    }

    /// A number from 0 up to, not including, 1 (SplitMix64).
    private mutating func fraction() -> Double {
        random &+= 0x9E37_79B9_7F4A_7C15
        var z = random
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((z ^ (z >> 31)) >> 11) * 0x1p-53
    }
}

/// A limit of so much in a window of time; what is beyond waits for its turn.
struct Quota: Sendable {
    /// In milliseconds.
    let window: Double
    /// When all that passed is paid for, in milliseconds.
    private var paid = -Double.infinity

    init(window: Double) { self.window = window }

    /// How long so much more waits, in milliseconds. What would wait longer than
    /// `FaultEngine.waitMax` is not counted.
    mutating func wait(for amount: Int, of limit: Int?, at now: Int64) -> Int64 {
        guard let limit else { return 0 }
        let (now, cost) = (Double(now), Double(amount) * window / Double(limit))
        let due = max(paid, now) + cost
        // A window's worth passes at once.
        let wait = max(0, due - window - now)
        guard wait <= Double(FaultEngine.waitMax) else { return FaultEngine.waitMax + 1 }
        paid = due
        return Int64(wait.rounded(.up))
    }
}
