"""The records that a row produces: conversations that answer, fail, and answer again, from a seed."""
import datetime, random

CHUNKS, RUNS, MESSAGES = "llm.token-chunks", "llm.run-lifecycle", "llm.finalized-messages"
TOPICS = (CHUNKS, RUNS, MESSAGES)
PARTITIONS = 4
STATE = "CONVERSATION_ACTIVITY_STATE_"
EVENT = "message.created"
# Kafka's retention goes by the records' own times: they are of today.
START = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


def stamp(ms):
    return (START + datetime.timedelta(milliseconds=ms)).strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (ms % 1000)


class Story:
    """Records in the order in which they are produced. A conversation's are all on one partition number."""

    def __init__(self, seed, conversations=60, chunks=30, active=12, prefix=""):
        self.random, self.prefix, self.now = random.Random(seed), prefix, 0
        self.records, self.placed = [], {}
        waiting = [self._conversation(f"c{seed}-{number}", number, chunks) for number in range(conversations)]
        playing = []
        while waiting or playing:
            while waiting and len(playing) < active:
                playing.append(waiting.pop(0))
            one = self.random.choice(playing)
            try:
                self.add(*next(one))
            except StopIteration:
                playing.remove(one)

    def add(self, topic, key, partition, value, what=None):
        """Appends a record; `what` says what it must have left in the tree once it is committed."""
        self.now += self.random.randrange(1, 20)
        place = (topic, partition)
        offset = self.placed.get(place, 0)
        self.placed[place] = offset + 1
        self.records.append({
            "topic": self.prefix + topic, "partition": partition, "key": key, "value": value,
            "timestamp_ms": int(START.timestamp() * 1000) + self.now, "offset": offset, "what": what})

    def _conversation(self, name, number, chunks):
        partition, seq, message = number % PARTITIONS, 0, number % 7
        runs = 2 if number % 5 == 0 else 1

        def activity(state):
            nonlocal seq
            seq += 1
            return RUNS, name, partition, {
                "conversation_id": name, "state": STATE + state, "seq": seq, "since": stamp(self.now)}, ("status", name, seq)

        def marker(run, status):
            return RUNS, name, partition, {
                "conversation_id": name, "run_id": run, "message_sequence": message, "status": status,
                "event_context": {"event_name": EVENT, "emitted_at": stamp(self.now)}}, ("event", name, "runs")

        def chunk(run, index, last):
            value = {"conversation_id": name, "message_sequence": str(message), "run_id": run, "chunk_index": index,
                     "content": f"{run} {index} ", "timestamp": stamp(self.now)}
            if index == last:
                value |= {"is_final": True, "finish_reason": "stop"}
            return CHUNKS, name, partition, value, ("chunk", name, str(message), run, index)

        yield activity("QUEUED")
        for attempt in range(runs):
            run = f"{name}-r{attempt}"
            yield marker(run, "started")
            yield activity("GENERATING")
            fails = attempt + 1 < runs
            for index in range(chunks // 2 if fails else chunks):
                yield chunk(run, index, None if fails else chunks - 1)
            if attempt > 0:
                # What came too late from the run before stays out.
                yield chunk(f"{name}-r{attempt - 1}", chunks // 2, None)
            yield marker(run, "failed" if fails else "completed")
        yield activity("IDLE")
        yield MESSAGES, name, partition, {
            "conversation_id": name, "message": {"content": name, "sequence": message},
            "event_context": {"event_name": EVENT}}, ("event", name, "messages")


def missing(record, tree):
    """What a record must have left in the tree and has not; None where all is well."""
    what = record["what"]
    if what is None:
        return None
    def at(*path):
        node = tree
        for key in path:
            if isinstance(node, list):
                key = int(key) if str(key).isdigit() and int(key) < len(node) else None
                node = None if key is None else node[key]
            else:
                node = node.get(key) if isinstance(node, dict) else None
        return node
    kind, name, *rest = what
    if kind == "status":
        seq = at("conversations", name, "status", "seq")
        return None if seq is not None and int(seq) >= rest[0] else f"status {rest[0]} of {name}: found {seq}"
    if kind == "event":
        return None if at("events", EVENT.replace(".", "_"), name, rest[0]) else f"event {rest[0]} of {name}"
    message, run, index = rest
    shown = at("streaming", name, message, "meta", "run_id")
    if shown is not None and shown > run:
        return None  # a later run has the stream
    found = at("streaming", name, message, "chunks", str(index))
    return None if found else f"chunk {index} of {run}"
