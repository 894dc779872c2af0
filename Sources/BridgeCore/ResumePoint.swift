/// Where a partition is read from, decided of what the tree and Kafka remember (contract section
/// 7).
struct ResumePoint: Equatable {
    /// nil: the partition stands still, for the reason in `halt`.
    var offset: Int64?
    var halt: String?
    /// Where it stands then: the first record that was not mirrored.
    var standsAt: Int64 = 0
    var notices: [Notice] = []
    /// Whether the watermark must be written before anything is read.
    var setsWatermark = false
    /// Whether the offset must be committed under the bridge's mark before anything is read.
    var commits = false
    /// Whether records were removed before they could be read.
    var isGap = false

    init(
        of source: TopicPartition, known: PartitionPositions, watermark: Watermark?,
        settings: Settings
    ) {
        let name = source.description
        var trusted = watermark
        if let mine = watermark?.cluster, let theirs = known.clusterID,
            !theirs.utf8.elementsEqual(mine)
        {
            trusted = nil
            notices.append(
                Notice(
                    .error, "watermark_of_another_cluster",
                    [
                        ("partition", name), ("found", String(decoding: mine, as: UTF8.self)),
                        ("expected", theirs),
                    ]))
        } else if let next = watermark?.next, next > known.high {
            trusted = nil
            notices.append(
                Notice(
                    .error, "watermark_beyond_end",
                    [("partition", name), ("watermark", "\(next)"), ("end", "\(known.high)")]))
        }
        let isMarked = known.metadata.hasPrefix(Bridge.commitMarkPrefix)
        var start: Int64?
        switch (known.committed, trusted) {
        case (nil, let watermark?):
            start = watermark.next
            if watermark.next > known.low {
                notices.append(
                    Notice(
                        .warn, "commit_missing",
                        [("partition", name), ("watermark", "\(watermark.next)")]))
            }
        case (nil, nil): start = beginning(known, settings)
        case (let committed?, _) where !isMarked: start = committed
        case (let committed?, nil):
            start = committed
            if committed > 0, watermark == nil {
                notices.append(
                    Notice(
                        .error, "watermark_missing",
                        [("partition", name), ("committed", "\(committed)")]))
            }
        case (let committed?, let watermark?):
            start = watermark.next
            if watermark.next < committed {
                notices.append(
                    Notice(
                        .error, "database_set_back",
                        [
                            ("partition", name), ("watermark", "\(watermark.next)"),
                            ("committed", "\(committed)"),
                        ]))
            }
        }
        if let wanted = start, wanted < known.low || wanted > known.high {
            start = overGap(at: wanted, name, known, settings)
        }
        offset = start
        guard let start else { return }
        setsWatermark = watermark?.next != start || trusted == nil
        commits = known.committed != start || !isMarked
    }

    private mutating func beginning(
        _ known: PartitionPositions, _ settings: Settings
    ) -> Int64? {
        switch settings.start {
        case .earliest: return known.low
        case .latest: return known.high
        case .time: return known.atStartTime ?? known.high
        case .error:
            standsAt = known.low
            halt = "no offset and no watermark, and kafka.start is error"
            return nil
        }
    }

    private mutating func overGap(
        at wanted: Int64, _ name: String, _ known: PartitionPositions, _ settings: Settings
    ) -> Int64? {
        isGap = true
        notices.append(
            Notice(
                .error, "log_gap",
                [
                    ("partition", name), ("wanted", "\(wanted)"), ("first", "\(known.low)"),
                    ("end", "\(known.high)"), ("on_gap", settings.onGap.rawValue),
                ]))
        switch settings.onGap {
        case .earliest: return known.low
        case .latest: return known.high
        case .halt:
            standsAt = wanted
            halt = "offset \(wanted) is not in the log any more, and kafka.on_gap is halt"
            return nil
        }
    }
}
