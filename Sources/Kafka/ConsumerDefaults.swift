extension Consumer {
    /// What users may change.
    static let defaults: [(String, String)] = [
        ("isolation.level", "read_committed"),
        ("check.crcs", "true"),
        ("allow.auto.create.topics", "false"),
        ("session.timeout.ms", "30000"),
        ("heartbeat.interval.ms", "3000"),
        ("max.poll.interval.ms", "300000"),
        // A topic that appears, or grows, is found within this time.
        ("topic.metadata.refresh.interval.ms", "10000"),
        // The broker answers as soon as there is a byte; the wait bounds how long a partition that
        // was full stands behind a fetch that asks only for idle ones.
        ("fetch.wait.max.ms", "50"),
        ("fetch.min.bytes", "1"),
        ("fetch.error.backoff.ms", "50"),
        // Memory: each partition's queue holds up to 10,000 records or 5 MiB and overshoots by one
        // answer's 1 MiB; a record costs some 450 bytes beside its own. So 4 partitions of 235-byte
        // records hold 25 MB, and no partition more than 12 MB. The limit in bytes must exceed
        // `fetch.max.bytes`, or nothing is ever delivered. `wakeStalled` is what makes such small
        // queues fast.
        ("fetch.max.bytes", "4194304"),
        ("max.partition.fetch.bytes", "1048576"),
        ("queued.max.messages.kbytes", "5120"),
        ("queued.min.messages", "10000"),
        ("socket.timeout.ms", "15000"),
        ("socket.connection.setup.timeout.ms", "10000"),
        ("socket.keepalive.enable", "true"),
        ("socket.nagle.disable", "true"),
        ("connections.max.idle.ms", "180000"),
        ("reconnect.backoff.max.ms", "2000"),
        ("log.connection.close", "false"),
    ]

    /// What the bridge is built on; users cannot change it (`PropertyRules`).
    static let fixed: [(String, String)] = [
        ("enable.auto.commit", "false"),
        ("enable.auto.offset.store", "false"),
        ("auto.offset.reset", "error"),
        ("partition.assignment.strategy", "range"),
        // Says when everything readable was read, also where transactions' markers come last.
        ("enable.partition.eof", "true"),
        ("log.queue", "true"),
    ]
}
