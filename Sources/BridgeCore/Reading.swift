internal import JSON

// What records need to know of the tree is read ahead, many reads at a time; records of a partition
// are planned strictly in order all the same.
extension Bridge {
    func interpret(_ record: Record, of partition: PartitionState) -> QueuedRecord.Content {
        do throws(Rejection) {
            let facts = try interpreter.facts(
                of: record, from: partition.source, by: partition.mapping)
            guard isReplay else { return .facts(facts) }
            let taken = settings.replay?.takes(facts, of: partition.source, at: record.offset)
            return .facts(taken ?? .nothing)
        } catch {
            return .bad(error)
        }
    }

    /// Whether a record can be planned.
    enum Readiness {
        case waiting
        /// Everything that it needs is known, of this conversation where it belongs to one.
        case ready(Conversation?)
    }

    /// Whether everything that the record needs is known; asks for what is not.
    func readiness(_ facts: Facts, in part: Part) -> Readiness {
        if case .value(let value) = facts, value.isGuarded {
            return readiness(guarded: value, in: part)
        }
        guard let key = facts.conversation else { return .ready(nil) }
        let conversation = part.conversation(key)
        return isReady(facts, of: conversation, in: part) ? .ready(conversation) : .waiting
    }

    /// A guarded node has a memory of its own, whatever the keys of its records; it lies among the
    /// conversations, under a key that none of them has. What was erased is the record's own.
    private func readiness(guarded value: ValueFacts, in part: Part) -> Readiness {
        var isListed = true
        var erased: Int64?
        if let key = value.conversation {
            if case .known(let marks) = part.eraseMarks {
                erased = marks[Bytes(key)]
            } else {
                let owner = part.conversation(key)
                isListed = self.isListed(owner, in: part, wanting: nil)
                erased = owner.erased
            }
        }
        let node = part.conversation([0] + value.path)
        node.listing = .known(sequences: [], erased: erased)
        return hasGuard(value.path, of: node, in: part) && isListed ? .ready(node) : .waiting
    }

    private func isReady(_ facts: Facts, of conversation: Conversation, in part: Part) -> Bool {
        switch facts {
        case .nothing: return true
        case .chunk(let chunk):
            return isListed(conversation, in: part, wanting: chunk.sequence)
                && hasStream(chunk.sequence, of: conversation, in: part)
        case .run(let run):
            var ready = isListed(conversation, in: part, wanting: run.marker?.sequence)
            if ready, let marker = run.marker {
                ready = hasStream(marker.sequence, of: conversation, in: part)
            }
            if let activity = run.activity, !hasStatus(activity.path, of: conversation) {
                ready = false
            }
            return ready
        case .event, .value: return isListed(conversation, in: part, wanting: nil)
        }
    }

    func isListed(
        _ conversation: Conversation, in part: Part, wanting sequence: Int64?
    ) -> Bool {
        switch conversation.listing {
        case .known: return true
        case .unread:
            switch part.eraseMarks {
            case .known(let marks):
                let erased = marks[Bytes(conversation.key)]
                conversation.listing = .known(sequences: [], erased: erased)
                return true
            case .unread:
                part.eraseMarks = .reading
                list(
                    StateLayout.streams(set: part.setKey), limit: Part.EraseMarks.max + 1,
                    for: .eraseMarks(part))
            case .reading: break
            case .perConversation:
                conversation.listing = .reading
                get(
                    StateLayout.streams(set: part.setKey, conversation: conversation.key),
                    shallow: true, for: .listing(part, conversation))
            }
        case .reading: break
        }
        if let sequence { conversation.want(sequence) }
        return false
    }

    func hasStream(
        _ sequence: Int64, of conversation: Conversation, in part: Part
    ) -> Bool {
        if conversation.stream(sequence) != nil { return true }
        if conversation.isAdopting(sequence) { return false }
        makeRoom(in: conversation, of: part)
        guard case .known(let sequences, _) = conversation.listing else { return false }
        guard sequences.contains(sequence) else {
            conversation.keep(Stream(sequence: sequence))
            return true
        }
        let adoption = Adoption(sequence: sequence)
        conversation.begin(adoption)
        get(
            StateLayout.stream(
                set: part.setKey, conversation: conversation.key, sequence: sequence),
            for: .entry(part, conversation, adoption))
        get(
            streamPath(conversation, sequence, in: part) + Array("/meta".utf8),
            for: .meta(part, conversation, adoption))
        return false
    }

    /// One conversation without end must not fill the memory, nor make its streams slow to find.
    private func makeRoom(in conversation: Conversation, of part: Part) {
        guard conversation.streams.count >= settings.streamsMax else { return }
        let forgotten = conversation.forgetStreams(
            downTo: settings.streamsMax / 2,
            settledBefore: lanes[part.lane].batches.first?.serial ?? .max)
        for stream in forgotten { part.agenda.remember(stream, of: conversation) }
    }

    func hasStatus(_ path: [UInt8], of conversation: Conversation) -> Bool {
        if let index = conversation.statusIndex(path) {
            return conversation.statuses[index].guarding != nil
        }
        conversation.beginStatus(path)
        get(path, for: .status(conversation, path: path))
        return false
    }

    private func hasGuard(_ path: [UInt8], of conversation: Conversation, in part: Part) -> Bool {
        if let index = conversation.guardIndex(path) { return conversation.guards[index].isRead }
        conversation.beginGuard(path)
        get(
            StateLayout.guards(set: part.setKey, node: path),
            for: .guardValues(conversation, path: path))
        return false
    }

    /// The stream's node: the set's template with its two places filled.
    func streamPath(_ conversation: Conversation, _ sequence: Int64, in part: Part) -> [UInt8] {
        guard let template = plan.sets[part.set].stream else {
            preconditionFailure("a set without streams has no stream")
        }
        var path: [UInt8] = []
        path.reserveCapacity(64)
        for (index, segment) in template.segments.enumerated() {
            if index > 0 { path.append(UInt8(ascii: "/")) }
            for part in segment {
                switch part {
                case .literal(let bytes): path.append(contentsOf: bytes)
                case .place(.field("conversation_id")): path.append(contentsOf: conversation.key)
                case .place: path.appendDecimal(sequence)
                }
            }
        }
        return path
    }

    // MARK: Answers

    func readAnswered(_ purpose: PendingRequest.Purpose, _ tape: JSONTape, at now: Moment) {
        switch purpose {
        case .eraseMarks(let part): eraseMarksRead(of: part, tape)
        case .listing(let part, let conversation): listed(conversation, in: part, tape)
        case .eraseMark(let part, let conversation, let sequences):
            list(sequences, erased: tape.int64(0), of: conversation, in: part)
        case .entry(let part, let conversation, let adoption):
            adoption.entry = .some(LedgerEntry(reading: tape))
            adopt(adoption, of: conversation, in: part)
        case .meta(let part, let conversation, let adoption):
            adoption.meta = .some(StreamMeta(reading: tape))
            adopt(adoption, of: conversation, in: part)
        case .chunkIndexes(let part, let conversation, let adoption):
            for (key, _) in tape.children(of: 0) {
                if let index = decimal(key) { adoption.stream?.noteWritten(index) }
            }
            readFirstChunk(adoption, of: conversation, in: part)
        case .firstChunk(let conversation, let adoption):
            if tape.kind(0) == .object { adoption.stream?.noteFirstChunk(Self.leaf(of: tape)) }
            conversation.finish(adoption)
        case .status(let conversation, let path):
            conversation.finishStatus(path, StatusGuard(reading: tape))
        case .guardValues(let conversation, let path):
            let values = guardValues(in: tape)
            guard let values, isReplay else {
                return conversation.finishGuard(path, values)
            }
            // A guard outlives a node that was removed by hand, which a replay restores.
            get(path, shallow: true, for: .guardedNode(conversation, path: path, values))
        case .guardedNode(let conversation, let path, let values):
            conversation.finishGuard(path, tape.kind(0) == .null ? nil : values)
        case .agenda(let part): agendaRead(part, tape, at: now)
        default: break
        }
    }

    private func eraseMarksRead(of part: Part, _ tape: JSONTape) {
        let entries = tape.children(of: 0)
        guard entries.count <= Part.EraseMarks.max else {
            part.eraseMarks = .perConversation
            // What has been read ahead meanwhile asks now, all at once.
            for partition in part.partitions {
                for queued in partition.queue {
                    if case .facts(let facts) = queued.content { _ = readiness(facts, in: part) }
                }
            }
            return
        }
        var marks: [Bytes: Int64] = [:]
        for (conversation, entry) in entries {
            marks[Bytes(conversation)] = tape.member(Name.erased, of: entry).flatMap(tape.int64)
        }
        part.eraseMarks = .known(marks)
    }

    private func listed(_ conversation: Conversation, in part: Part, _ tape: JSONTape) {
        var sequences: Set<Int64> = []
        var mark: Int?
        for (key, value) in tape.children(of: 0) {
            if key == Name.erased { mark = value }
            if let sequence = decimal(key) { sequences.insert(sequence) }
        }
        // A shallow listing need not tell more of a key than that it is there.
        if let mark, tape.int64(mark) == nil {
            get(
                StateLayout.streams(set: part.setKey, conversation: conversation.key)
                    + [UInt8(ascii: "/")] + Name.erased,
                for: .eraseMark(part, conversation, sequences: sequences))
        } else {
            list(sequences, erased: mark.flatMap(tape.int64), of: conversation, in: part)
        }
    }

    private func list(
        _ sequences: Set<Int64>, erased: Int64?, of conversation: Conversation, in part: Part
    ) {
        conversation.listing = .known(sequences: sequences, erased: erased)
        // Sorted: a seed must replay the same requests.
        for sequence in conversation.takeWanted().sorted() {
            _ = hasStream(sequence, of: conversation, in: part)
        }
    }

    private func adopt(_ adoption: Adoption, of conversation: Conversation, in part: Part) {
        guard let entry = adoption.entry, let meta = adoption.meta else { return }
        let stream: Stream
        if let entry {
            stream = Stream(adopting: entry, meta: meta, sequence: adoption.sequence)
            stream.agendaItem = StateLayout.agendaItem(
                endedBy: entry.endedBy, endedAt: entry.endedAt, removedAt: entry.removedAt,
                sequence: adoption.sequence, conversation: conversation.key)
        } else {
            stream = Stream(sequence: adoption.sequence)
        }
        adoption.stream = stream
        guard stream.needsWrittenIndexes else {
            return readFirstChunk(adoption, of: conversation, in: part)
        }
        get(
            streamPath(conversation, adoption.sequence, in: part) + Array("/chunks".utf8),
            shallow: true, for: .chunkIndexes(part, conversation, adoption))
    }

    /// Finishes the adoption, once the only chunk has been read where it must be known.
    private func readFirstChunk(
        _ adoption: Adoption, of conversation: Conversation, in part: Part
    ) {
        guard adoption.stream?.needsFirstChunk == true else {
            return conversation.finish(adoption)
        }
        get(
            streamPath(conversation, adoption.sequence, in: part) + Array("/chunks/0".utf8),
            for: .firstChunk(conversation, adoption))
    }

    private func guardValues(in tape: JSONTape) -> [GuardValue]? {
        guard tape.kind(0) == .string, let kept = try? parser.parse(tape.text(0)) else {
            return nil
        }
        let values = kept.elements(of: 0).compactMap { GuardValue(kept: $0, of: kept) }
        return values.isEmpty ? nil : values
    }

    // A chunk's node as the bridge would write it: the tree may give its members in another order.
    private static func leaf(of tape: JSONTape) -> [UInt8] {
        var leaf = ObjectWriter()
        for name in [Name.content, Name.type, Name.timestamp, Name.isFinal, Name.finishReason] {
            if let value = tape.member(name, of: 0) { leaf.add(name, tape.raw(value)) }
        }
        return leaf.finish()
    }
}
