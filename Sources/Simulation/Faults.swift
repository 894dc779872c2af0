internal import BridgeCore
internal import Oracle

/// What may go wrong in one world, and how often. A seed switches some faults off altogether: in a
/// world in which everything fails at once single faults hide ("swarm testing").
struct Faults {
    /// Whether the database has the shipped rules, which refuse a PATCH with an overtaken fence.
    /// Without them nothing can stop a request that comes late, so there are none then.
    var hasFence: Bool
    /// How likely a process dies at each step.
    var crash: Double
    /// Whether processes are stopped politely too.
    var stops: Bool
    /// How likely a request, or an answer, is lost.
    var lostRequest: Double
    var lostAnswer: Double
    /// How likely a request arrives after its sender has given up, or arrives twice.
    var lateRequest: Double
    var doubledRequest: Double
    /// How likely the database answers 503, 429, or 401 though it could serve.
    var unavailable: Double
    var rebalances: Bool
    /// Whether instances hear late that their partitions were given away.
    var zombies: Bool
    /// How likely a commit or a dead letter fails, though it may have arrived.
    var kafkaFailure: Double
    /// How likely a record is followed by one that cannot be read, or that the database refuses.
    var badRecord: Double
    var poisonRecord: Double
    var oversizeRecord: Double
    /// Whether the database now and then refuses, or does not serve, anything.
    var outages: Bool
    /// Whether the operator sets offsets back, or the database to a snapshot.
    var resets: Bool
    var setbacks: Bool
    /// How likely the nodes of a conversation are removed by hand before the second group.
    var removals: Double
    /// Whether the second group is there while the first one lives.
    var rival: Bool
    /// Whether records come bit by bit, or all lie there at the beginning.
    var feed: Bool
    /// How likely the log has a gap before a record, as compaction and transactions leave.
    var offsetGap: Double
    /// How far the instances' wall clocks may be wrong, in milliseconds.
    var clockSkew: Int

    init(random: inout SplitMix64) {
        func on<T>(_ probability: Double, _ value: T, else none: T) -> T {
            random.chance(probability) ? value : none
        }
        hasFence = on(0.6, true, else: false)
        crash = on(0.6, random.pick([0.002, 0.01]), else: 0)
        stops = on(0.5, true, else: false)
        lostRequest = on(0.6, 0.1, else: 0)
        lostAnswer = on(0.6, 0.1, else: 0)
        lateRequest = on(0.6, 0.08, else: 0)
        doubledRequest = on(0.6, 0.15, else: 0)
        unavailable = on(0.4, 0.05, else: 0)
        rebalances = on(0.7, true, else: false)
        zombies = on(0.5, true, else: false)
        kafkaFailure = on(0.4, 0.1, else: 0)
        badRecord = on(0.5, 0.05, else: 0)
        poisonRecord = on(0.5, random.pick([0.01, 0.05]), else: 0)
        oversizeRecord = on(0.3, 0.1, else: 0)
        outages = on(0.4, true, else: false)
        resets = on(0.3, true, else: false)
        setbacks = on(0.3, true, else: false)
        removals = on(0.5, 0.3, else: 0)
        rival = on(0.2, true, else: false)
        feed = on(0.5, true, else: false)
        offsetGap = on(0.4, 0.15, else: 0)
        clockSkew = on(0.4, 1_500, else: 0)
        // A group that is stopped politely has ended: the other one may take over.
        if rival { stops = false }
        if !hasFence {
            lateRequest = 0
            doubledRequest = 0
            zombies = false
        }
    }
}

/// How large a world is, and how its bridges are set.
struct Shape: CustomStringConvertible {
    var conversations: Int
    var partitions: Int32
    var settings: Settings
    /// How many records of value mappings there are beside; 0 leaves the mappings out.
    var valueRecords: Int
    /// The largest PATCH that the database accepts, in bytes.
    var patchBytesMax: Int
    let plan: MirrorPlan

    init(random: inout SplitMix64, faults: Faults, circumstances: Circumstances) {
        conversations = random.int(2..<14)
        partitions = Int32(random.int(1..<4))
        valueRecords = random.chance(0.3) ? random.int(1..<40) : 0
        patchBytesMax = faults.oversizeRecord > 0 ? 8 << 10 : 10 << 20
        settings = Settings()
        settings.lanes = random.int(1..<4)
        settings.batchWritesMax = random.pick([4, 10, 40, 10_000])
        settings.batchBytesMax = random.pick([1 << 10, 16 << 10, 1 << 20])
        settings.inFlightBytesMax = random.pick([1 << 10, 6 << 10, 1 << 20])
        settings.retryMax = .seconds(2)
        settings.drain = circumstances.isHasty ? .milliseconds(20) : .seconds(2)
        settings.keep = random.chance(0.3) ? random.pick([.milliseconds(500), .seconds(5)]) : .zero
        settings.stallAfter =
            random.chance(0.3) ? random.pick([.milliseconds(500), .seconds(4)]) : .zero
        settings.stallStatus = circumstances.stallStatus
        if circumstances.stallStatus, settings.stallAfter == .zero {
            settings.stallAfter = .milliseconds(500)
        }
        settings.reject = circumstances.reject
        settings.onGap = circumstances.onGap
        if let most = circumstances.conversationsMax {
            settings.conversationsMax = most
            settings.streamsMax = most
        }
        plan = ValueRecords.plan(
            byArrival: circumstances.byArrival, valueRecords: valueRecords)
    }

    /// Without the plan, whose sets and dictionaries have no order.
    var description: String {
        "\(conversations) conversations, \(partitions) partitions, \(valueRecords) records of "
            + "values, PATCHes up to \(patchBytesMax) bytes, \(settings)"
    }
}
