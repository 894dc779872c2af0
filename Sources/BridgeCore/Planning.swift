internal import JSON

// What a record does: judged by what the tree will hold once everything planned before has landed,
// and added to its lane's open batch.
extension Bridge {
    /// Plans what waits, as far as it is ready.
    func planQueues(at now: Moment) {
        guard let assignment else { return }
        for part in assignment.parts {
            for partition in part.partitions where partition.halt != nil { giveUp(partition) }
            guard !lanes[part.lane].isFrozen else { continue }
            for partition in part.partitions {
                while var queued = partition.queue.first {
                    if case .unread = queued.content {
                        queued.content = interpret(queued.record, of: partition)
                        partition.queue.replaceFirst(with: queued)
                    }
                    guard plan(queued, of: partition, at: now) else { break }
                    _ = partition.queue.popFirst()
                }
            }
            if lanes[part.lane].groups.isEmpty { planChores(of: part, at: now) }
        }
    }

    /// What a partition that stands still has read would take the room of the others.
    private func giveUp(_ partition: PartitionState) {
        let back = partition.queue.filter { partition.stands(at: $0.record.offset) }
        guard !back.isEmpty else { return }
        partition.queue.keep { !partition.stands(at: $0.record.offset) }
        // Offsets that Kafka skips before the first one given up are not waited for.
        let planned = lanes[partition.part.lane].batches.flatMap(\.records)
            .filter { $0.partition === partition }.map(\.record.offset)
        let kept = (planned + partition.queue.map(\.record.offset)).max()
        partition.offsets.unread(from: kept.map { $0 + 1 } ?? partition.offsets.settled)
        inFlightBytes -= back.reduce(0) { $0 + $1.record.size }
        partition.givenUp += back.count
    }

    /// Plans one record; false where it must wait.
    func plan(_ queued: QueuedRecord, of partition: PartitionState, at now: Moment) -> Bool {
        let part = partition.part
        guard !partition.stands(at: queued.record.offset), !partition.waitsForDeadLetter,
            !lanes[part.lane].isFrozen, lanes[part.lane].admits(partition, queued.record.offset)
        else { return false }
        switch queued.content {
        case .unread: return false
        case .bad(let rejection): return reject(queued, of: partition, rejection, at: now)
        case .rejected:
            add(queued, of: partition, nil, cost: 0, isRejected: true)
            return true
        case .facts(let facts):
            guard case .ready(let conversation) = readiness(facts, in: part) else { return false }
            do throws(Rejection) {
                let writes = isReplay ? counters.dataWrites : 0
                try plan(facts, queued, of: partition, conversation, at: now)
                if isReplay, counters.dataWrites == writes {
                    notePassedOver(facts, queued.record, conversation, of: part.lane)
                }
                return true
            } catch {
                return reject(queued, of: partition, error, at: now)
            }
        }
    }

    /// Marks the record that was planned last and writes nothing. It counts once it settles: after
    /// a refusal it is planned again.
    private func notePassedOver(
        _ facts: Facts, _ record: Record, _ conversation: Conversation?, of lane: Int
    ) {
        let reason: Counters.PassedOver
        if case .nothing = facts {
            reason = .leftOut
        } else {
            reason = conversation?.hasErased(record) == true ? .erased : .known
        }
        lanes[lane].batches[lanes[lane].batches.count - 1].passOverLast(reason)
    }

    /// Sends a record to the dead letters; false where the partition stands still at it instead.
    func reject(
        _ queued: QueuedRecord, of partition: PartitionState, _ rejection: Rejection, at now: Moment
    ) -> Bool {
        let key = Counters.RejectionKey(topic: partition.source.topic, reason: rejection.reason)
        counters.rejected[key, default: 0] += 1
        let fields = [
            ("partition", "\(partition.source)"), ("offset", "\(queued.record.offset)"),
            ("reason", rejection.reason.rawValue), ("message", rejection.message),
        ]
        switch settings.reject {
        case .stop:
            partition.haltedAt = queued.record.offset
            partition.halt =
                "the record at \(partition.source)@\(queued.record.offset) was rejected "
                + "(\(rejection)), and delivery.reject is stop"
            notice(.error, "partition_stopped", fields)
            return false
        case .skip: notice(.warn, "record_skipped", fields)
        case .deadLetter:
            notice(.warn, "record_rejected", fields)
            partition.offsets.hold(queued.record.offset)
            serials.deadLetter += 1
            let letter = DeadLetter(
                id: serials.deadLetter, source: partition.source, record: queued.record,
                rejection: rejection, time: now.wall)
            // Beside the batch's share: the letter outlives the batch.
            inFlightBytes += queued.record.size
            deadLetters[letter.id] = PendingDeadLetter(
                letter: letter, partition: partition, readAt: queued.readAt)
            effects.append(.deadLetter(letter))
        }
        add(queued, of: partition, nil, cost: 0, isRejected: true)
        return true
    }

    private func plan(
        _ facts: Facts, _ queued: QueuedRecord, of partition: PartitionState,
        _ conversation: Conversation?, at now: Moment
    ) throws(Rejection) {
        guard let conversation else {
            if case .value(let value) = facts {
                plan(value, queued, of: partition, nil)
            } else {
                add(queued, of: partition, nil, cost: 0)
            }
            return
        }
        if conversation.hasErased(queued.record) {
            count(\.erased, queued)
            add(queued, of: partition, conversation, cost: 0)
            return
        }
        switch facts {
        case .nothing: add(queued, of: partition, conversation, cost: 0)
        case .chunk(let chunk):
            try plan(chunk, queued, of: partition, conversation, cost: facts.cost, at: now)
        case .run(let run): plan(run, queued, of: partition, conversation, at: now)
        case .event(let event):
            let batch = add(
                queued, of: partition, conversation, cost: facts.cost, event: event.path)
            counters.add(.event)
            lanes[partition.part.lane].batches[batch].setEvent(event.path, event.value)
        case .value(let value): plan(value, queued, of: partition, conversation)
        }
    }

    private func plan(
        _ chunk: ChunkFacts, _ queued: QueuedRecord, of partition: PartitionState,
        _ conversation: Conversation, cost: Int, at now: Moment
    ) throws(Rejection) {
        guard let stream = conversation.stream(chunk.sequence) else {
            preconditionFailure("a chunk is planned after its stream was read")
        }
        let changes = try stream.apply(
            chunk, offset: queued.record.offset, isReplay: isReplay, isAgain: queued.isAgain)
        noteHeard(stream, changes, queued, at: now)
        if changes.gaps > 0 { count(\.runsWithGaps, queued) }
        let batch = add(queued, of: partition, conversation, cost: cost)
        write(
            changes, of: stream, chunk.leaf, conversation, partition.part, batch, at: now)
    }

    private func plan(
        _ run: RunFacts, _ queued: QueuedRecord, of partition: PartitionState,
        _ conversation: Conversation, at now: Moment
    ) {
        let part = partition.part
        let batch = add(queued, of: partition, conversation, cost: 1024, event: run.event?.path)
        if let activity = run.activity {
            let wasWorking = conversation.isWorking
            defer {
                if wasWorking, !conversation.isWorking {
                    part.listen(to: conversation, at: now.monotonic)
                }
            }
            switch conversation.judge(activity, flaw: flaw) {
            case .write:
                counters.add(.status)
                lanes[part.lane].batches[batch].set(activity.path, activity.node)
            case .stale: count(\.staleStatuses, queued)
            case .unchanged: break
            }
        }
        if let event = run.event {
            counters.add(.event)
            lanes[part.lane].batches[batch].setEvent(event.path, event.value)
        }
        if let marker = run.marker {
            guard let stream = conversation.stream(marker.sequence) else {
                preconditionFailure("a marker is planned after its stream was read")
            }
            let changes = stream.apply(marker, isReplay: isReplay)
            noteHeard(stream, changes, queued, at: now)
            write(changes, of: stream, nil, conversation, part, batch, at: now)
        }
    }

    /// Counts what the record came to; planned again, it was counted.
    private func count(_ counter: WritableKeyPath<Counters, Int>, _ queued: QueuedRecord) {
        if !queued.isAgain { counters[keyPath: counter] += 1 }
    }

    /// What comes late says nothing of the run that the node shows.
    private func noteHeard(
        _ stream: Stream, _ changes: Stream.Changes, _ queued: QueuedRecord, at now: Moment
    ) {
        guard changes.isLate else { return stream.lastHeard = now.monotonic }
        count(\.lateChunks, queued)
    }

    private func plan(
        _ value: ValueFacts, _ queued: QueuedRecord, of partition: PartitionState,
        _ conversation: Conversation?
    ) {
        let part = partition.part
        guard conversation?.passesGuard(value) ?? true else {
            count(\.staleStatuses, queued)
            add(queued, of: partition, conversation, cost: 0)
            return
        }
        // A merge after a delete of the same node, or the reverse, would be an ancestor conflict.
        let batch = add(
            queued, of: partition, conversation, cost: value.cost, alone: value.aloneWith)
        counters.add(.value)
        switch value.change {
        case .set(let json): lanes[part.lane].batches[batch].set(value.path, json)
        case .delete: lanes[part.lane].batches[batch].set(value.path, JSONWord.null)
        case .merge(let children):
            for (key, json) in children {
                lanes[part.lane].batches[batch].set(value.path + [UInt8(ascii: "/")] + key, json)
            }
        case .ignore: break
        }
        if let path = value.aloneWith { lanes[part.lane].batches[batch].mark(path) }
        guard value.isGuarded else { return }
        let kept = StateLayout.guards(set: part.setKey, node: value.path)
        lanes[part.lane].batches[batch].set(kept, value.guardJSON)
    }

    /// Adds what a record changed of a stream to the batch.
    func write(
        _ changes: Stream.Changes, of stream: Stream, _ leaf: [UInt8]?,
        _ conversation: Conversation, _ part: Part, _ batch: Int, at now: Moment
    ) {
        var changes = changes
        if stream.noteEnd(at: now.wall) { changes.ledger = true }
        let touches =
            changes.isFresh || changes.chunk != nil || changes.meta || !changes.deleted.isEmpty
        if touches, !stream.isRemoved {
            let meta = changes.meta ? stream.meta?.json : nil
            if meta != nil { counters.add(.meta) }
            if changes.chunk != nil { counters.add(.chunk) }
            lanes[part.lane].batches[batch].withStream(
                stream, at: streamPath(conversation, stream.sequence, in: part)
            ) { writes in
                if changes.isFresh { writes.begin() }
                if let index = changes.chunk { writes.setChunk(index, leaf) }
                for index in changes.deleted { writes.setChunk(index, nil) }
                if let meta { writes.setMeta(meta) }
            }
        }
        if changes.ledger { writeLedger(of: stream, conversation, part, batch) }
    }

    /// Adds the stream's ledger entry and its place in the agenda to the batch.
    func writeLedger(of stream: Stream, _ conversation: Conversation, _ part: Part, _ batch: Int) {
        guard let entry = stream.ledgerEntry(flaw: flaw) else { return }
        counters.add(.state)
        stream.ledgerBatch = lanes[part.lane].batches[batch].serial
        let item = StateLayout.agendaItem(stream, conversation: conversation.key)
        if item != stream.agendaItem {
            let agenda =
                StateLayout.agenda(set: part.setKey, partition: part.number)
                + [UInt8(ascii: "/")]
            if let old = stream.agendaItem {
                lanes[part.lane].batches[batch].set(agenda + old, JSONWord.null)
            }
            var name: [UInt8] = []
            name.appendJSONString(conversation.name(of: stream.sequence))
            lanes[part.lane].batches[batch].set(agenda + item, name)
            stream.agendaItem = item
        }
        lanes[part.lane].batches[batch].set(
            StateLayout.stream(
                set: part.setKey, conversation: conversation.key, sequence: stream.sequence),
            entry.json)
    }

    // MARK: The open batch

    /// Adds a record to its lane's open batch and gives the batch's index.
    @discardableResult
    func add(
        _ queued: QueuedRecord, of partition: PartitionState, _ conversation: Conversation?,
        cost: Int, event: [UInt8]? = nil, alone: [UInt8]? = nil, isRejected: Bool = false
    ) -> Int {
        let part = partition.part
        let batch = openBatch(lane: part.lane, cost: cost, event: event, alone: alone)
        conversation?.pins += 1
        lanes[part.lane].batches[batch].add(
            PlannedRecord(
                partition: partition, record: queued.record, conversation: conversation,
                isRejected: isRejected, readAt: queued.readAt),
            of: part)
        return batch
    }

    /// The batch that takes more, opened where there is none.
    func openBatch(
        lane: Int, cost: Int, event: [UInt8]? = nil, alone: [UInt8]? = nil
    ) -> Int {
        let last = lanes[lane].batches.count - 1
        if last >= 0, last > 0 || lanes[lane].isIdle, !lanes[lane].batches[last].isStateOnly,
            !lanes[lane].batches[last].isSealed
        {
            let hasRoom =
                !lanes[lane].groups.isEmpty
                || lanes[lane].batches[last].hasRoom(
                    for: cost, writesMax: settings.batchWritesMax,
                    bytesMax: lanes[lane].size.limit)
            let merges =
                event.map { lanes[lane].batches[last].holdsEvent($0) && flaw != .mergesEvents }
                ?? false
            let conflicts = alone.map { lanes[lane].batches[last].holdsEvent($0) } ?? false
            if hasRoom, !merges, !conflicts { return last }
        }
        return appendBatch(to: lane)
    }

    /// Opens a batch behind those that there are.
    func appendBatch(to lane: Int) -> Int {
        serials.batch += 1
        lanes[lane].batches.append(Batch(serial: serials.batch))
        return lanes[lane].batches.count - 1
    }
}

extension ValueFacts {
    /// A node whose writes in one batch would lie one above the other.
    var aloneWith: [UInt8]? {
        switch change {
        case .merge: path
        case .delete: path
        case .set, .ignore: nil
        }
    }

    /// The guarded values as they are kept: JSON within a JSON string, which no array coercion
    /// touches; null after a delete.
    var guardJSON: [UInt8] {
        if case .delete = change { return JSONWord.null }
        var list: [UInt8] = [UInt8(ascii: "[")]
        for (index, value) in guardValues.enumerated() {
            if index > 0 { list.append(UInt8(ascii: ",")) }
            list.append(contentsOf: value.json)
        }
        list.append(UInt8(ascii: "]"))
        var out: [UInt8] = []
        out.appendJSONString(list)
        return out
    }
}
