internal import BridgeCore
internal import Oracle

/// What a world has beside its faults: how the bridge is set, and what its operators do. Drawn from
/// a generator of its own, so that a seed's faults and records stay what they were before.
struct Circumstances {
    /// What an operator does while the whole group is down.
    enum Upkeep: CaseIterable {
        /// Sets an offset forward: the records between are passed over.
        case skip
        /// Retention removes records that were still to be read.
        case retention
        /// The same topics lie in another cluster, which knows no commits.
        case anotherCluster
        /// A watermark lies beyond the end of its log.
        case strayWatermark
        /// A conversation is erased for good.
        case erasure
    }

    var upkeep: [Upkeep] = []
    /// How many conversations a part remembers, and how many streams of each; nil for the usual
    /// numbers.
    var conversationsMax: Int?
    /// Whether chunks are numbered as they stand in the topic.
    var byArrival = false
    var stallStatus = false
    var reject = RejectPolicy.deadLetter
    var onGap = GapPolicy.earliest
    /// Whether two topics of one set differ in their partitions for a while.
    var unequalCounts = false
    /// Whether the broker takes neither commits nor dead letters now and then.
    var brokerOutages = false
    /// Whether a rival group claims at the same time as the first one.
    var rivalIsEarly = false
    /// Whether the database is quick, but slow now and then: its answer comes when much else has
    /// happened.
    var slowAnswers = false
    /// Larger PATCHes take longer than their sender waits: a slow link. With a fence some arrive
    /// later all the same.
    var slowBytes: Int?

    /// Whether a revoke does not wait for answers: what is on its way lands after the next claim.
    var isHasty = false

    init(random: inout SplitMix64, faults: Faults) {
        guard random.chance(0.6) else { return }
        func on(_ probability: Double) -> Bool { random.chance(probability) }
        conversationsMax = on(0.4) ? random.int(1..<6) : nil
        byArrival = on(0.3)
        stallStatus = on(0.5)
        reject = on(0.3) ? random.pick([.skip, .stop]) : .deadLetter
        onGap = random.pick([.earliest, .latest, .halt])
        unequalCounts = on(0.2)
        brokerOutages = on(0.3)
        if on(0.6) {
            let count = random.int(1..<4)
            upkeep = (0..<count).map { _ in random.pick(Upkeep.allCases) }
        }
        rivalIsEarly = on(0.6)
        // A database that is set back would bring back what was passed over or erased, and another
        // group may be at work while this one is down.
        if faults.setbacks || faults.rival { upkeep = [] }
        if faults.rival { unequalCounts = false }
        slowAnswers = on(0.5)
        isHasty = on(0.4)
        // A single record and a claim of all partitions must fit.
        if faults.oversizeRecord == 0, on(0.3) { slowBytes = random.pick([3_500, 6_000]) }
    }
}
