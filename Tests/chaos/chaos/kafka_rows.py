"""Faults of the broker, by what librdkafka's mock cluster can do."""
import json, re, time

from .matrix import row
from .native import shim
from .parts import Failure, wait_for
from .story import CHUNKS, MESSAGES, RUNS, missing

FETCH, METADATA, COMMIT, COORDINATOR, JOIN, HEARTBEAT, SYNC, PRODUCE = 1, 3, 8, 10, 11, 12, 14, 0
TRANSPORT = -195
# With these Kafka's client says of each answer what it was.
TALKING = ["debug: protocol,cgrp"]


def met(w, pattern, least=1, seconds=20):
    """Waits until so many lines of the bridge's log show that it has met the fault, and counts them."""
    def count(): return sum(re.search(pattern, line) is not None for line in w.bridge.lines())
    wait_for(lambda: f"{pattern}: {least} times, found {count()}; {w.bridge.tail()}", seconds, lambda: count() >= least)
    w.times += count()


def lost(bridge):
    """Whether the group has ever gone on without it."""
    return any(one["lost"] for one in bridge.events("revoked"))


@row(9, "broker down and up")
def down(w):
    w.start()
    w.tell(seconds=3, part=0.4)
    w.wait_until_seen(30)
    w.join()
    for pause in (1, 4):
        w.broker("down -1")
        w.times += 1
        w.tell(seconds=1, part=0.3)
        time.sleep(pause)
        w.broker("up -1")
        w.join()
    w.healed()
    w.tell(seconds=1)
    w.finish()


@row(10, "connections reset in the middle of a fetch")
def fetch_reset(w):
    w.start(level="debug", properties=TALKING)
    w.tell(seconds=5)
    for _ in range(8):
        w.broker(f"errors {FETCH} " + f"{TRANSPORT} " * 5)
        time.sleep(0.5)
    met(w, r"Connected \(#(?!1\))", least=3)
    w.broker(f"clear {FETCH}")
    w.healed()
    w.finish()


@row(11, "broker silent for twice the session, its sockets open")
def frozen(w):
    w.start()
    w.tell(seconds=3, part=0.5)
    w.wait_until_seen(30)
    w.flush()
    w.broker.freeze()
    w.tell(seconds=2, part=0.6)  # what waits for the broker when it comes back
    time.sleep(13)
    w.join()
    w.broker.thaw()
    w.healed()
    wait_for(lambda: f"its session has ended: {w.bridge.tail()}", 20, lambda: lost(w.bridge))
    w.times += 1
    w.tell(seconds=2)
    w.finish(recovers=30)


@row(12, "broker's round trip 500 ms, then 3 s")
def slow_broker(w):
    w.start(level="debug", properties=["session.timeout.ms: 12000", *TALKING])
    w.tell(seconds=12)
    for milliseconds, seconds, seen in ((500, 5, r"rtt [5-9]\d\d\."), (3000, 8, r"rtt [3-9]\d\d\d\.")):
        w.broker(f"rtt -1 {milliseconds}")
        time.sleep(seconds)
        met(w, seen)
    w.broker("rtt -1 0")
    w.healed()
    w.settle()
    if w.bridge.says('"revoked"'):
        w.violations.append("slow answers have cost it its partitions")
    w.finish()


@row(13, "leaders move", brokers=3)
def leader_moves(w):
    w.start()
    w.tell(seconds=6)
    for turn in range(10):
        for topic in (CHUNKS, RUNS, MESSAGES):
            w.broker(f"leader {topic} {turn % 4} {turn % 3 + 1}")
            w.times += 1
        time.sleep(0.5)
    w.healed()
    w.finish()


@row(14, "no leader for a partition: the others go on, also after a restart", brokers=3)
def leaderless(w):
    w.start()
    w.tell(seconds=2, part=0.4)
    w.settle()
    w.broker(f"leader {CHUNKS} 0 -1")
    w.times += 1
    w.tell(seconds=2, part=0.5)
    w.teller.join(30)
    time.sleep(1)
    w.bridge.stop()
    w.start(wait=False)
    w.tell(seconds=2)
    w.teller.join(30)

    def others():
        tree = w.tree.read()
        return not any(missing(record, tree) for record in w.story.records if record["partition"] != 0)
    # Kafka is not asked meanwhile: it cannot tell the positions of a partition without leader.
    wait_for(lambda: f"the other partitions go on: {w.bridge.tail()}", 60, others)
    reason = f"{CHUNKS}/0 is not read"
    if not any(one.startswith(reason) for one in w.bridge.reasons()):
        w.violations.append(f"not ready for {w.bridge.reasons()}, where {reason} was expected")
    w.broker(f"leader {CHUNKS} 0 1")
    w.healed()
    w.finish()


@row(15, "the group's coordinator moves, is loading, is not there", brokers=3)
def coordinator(w):
    w.start(level="debug", properties=TALKING)
    w.tell(seconds=12)
    for turn in range(4):
        w.broker(f"coordinator chaos {turn % 3 + 1}")
        w.broker(f"errors {COMMIT} 14 15 16")
        w.broker(f"errors {HEARTBEAT} 16 15")
        w.broker(f"errors {COORDINATOR} 15 15")
        time.sleep(2.5)
    # "Not coordinator" is what a move says by itself.
    for seen in ("coordinator set to broker .*/2", "coordinator set to broker .*/3", "heartbeat error response .*Coordinator not available",
                 "FindCoordinator response error: COORDINATOR_NOT_AVAILABLE",
                 "Coordinator (not available|load in progress): OffsetCommitRequest failed|OffsetCommit for .* returned: Broker: Coordinator"):
        met(w, seen)
    w.healed()
    w.finish()


@row(16, "commits refused: illegal generation, unknown member")
def commit_refused(w):
    w.start()
    w.tell(seconds=12)
    for code in (22, 25):
        w.wait_until_seen(10)
        w.broker(f"errors {COMMIT} {code}")
        w.times += 1
        time.sleep(4)
    w.healed()
    w.finish()


@row(17, "commits refused: rebalance in progress, twenty times")
def commit_rebalancing(w):
    w.start()
    w.tell(seconds=6)
    w.wait_until_seen(10)
    w.broker(f"errors {COMMIT} " + "27 " * 20)
    w.times += 20
    w.join()
    w.healed()
    w.finish()


@row(18, "its instance is fenced by a twin")
def instance_fenced(w):
    w.start(properties=["group.instance.id: twin"])
    w.tell(seconds=3, part=0.6)
    w.wait_until_seen(10)
    began = time.monotonic()
    for api in (COMMIT, HEARTBEAT):
        w.broker(f"errors {api} 82 82")
    w.times += 1
    code = w.bridge.exit(30, codes=(75,))
    w.notes.append(f"exit {code} after {time.monotonic() - began:.1f} s")
    if code != 75:
        raise Failure(f"exit {code}: {w.bridge.tail()}")
    for api in (COMMIT, HEARTBEAT):
        w.broker(f"clear {api}")
    w.join()
    w.start()
    w.healed()
    w.tell(seconds=1)
    w.finish()


@row(19, "retention passes what was still to be read")
def retention(w):
    w.start()
    w.tell(seconds=1, part=0.6)
    w.settle()
    w.judge()
    w.bridge.stop()
    # The mock keeps five mebibytes of a partition. What is left begins in the middle.
    w.checks_prefix = False
    w.order.exempt.add("big")
    for number in range(9000):
        w.log.produce({"topic": CHUNKS, "partition": 0, "key": "big", "poison": True, "value": {
            "conversation_id": "big", "message_sequence": 1, "run_id": "r", "chunk_index": number, "content": "x" * 1000,
            "timestamp": "2026-11-02T00:00:00Z"}})
    w.log.flush()
    w.times += 1
    place = f"{CHUNKS}/0"
    found = w.positions()[place]
    if found["low"] <= found["committed"]:
        raise Failure(f"nothing has been removed: {found}")
    beside(w, {place: 9000})
    w.start()
    w.healed()
    wait_for("the alarm", 30, lambda: w.bridge.says('"log_gap"') and w.bridge.metric("log_gaps_total") >= 1)
    wait_for("the rest is mirrored", 90, lambda: w.positions()[place]["committed"] == found["high"])
    kept = w.tree.read("streaming/big/1/chunks")
    count = sum(one is not None for one in (kept.values() if isinstance(kept, dict) else kept))
    if count != found["high"] - found["low"]:
        w.violations.append(f"{found['high'] - found['low']} records are left, {count} were mirrored")
    w.notes.append(f"{found['low'] - found['committed']} records gone, told")
    w.tell(seconds=1)
    finish_after_gap(w)


def beside(w, strangers):
    """From here on so many records are in these partitions beside those of the story."""
    counts = w._counts
    w._counts = lambda told: {place: count + strangers.get(place, 0) for place, count in counts(told).items()}


def finish_after_gap(w):
    """As `finish`, where a gap of the log has taken none of the story, though much beside it."""
    w.settle()
    tree = w.tree.read()
    gone = [one for one in (missing(record, tree) for record in w.story.records) if one]
    w.lost += len(gone)
    w.violations += [f"is missing: {one}" for one in gone[:5]]
    w.end()


@row(20, "access to topic and group is lost and comes back")
def unauthorized(w):
    w.start()
    w.tell(seconds=14)
    w.wait_until_seen(20)
    w.broker(f"errors {FETCH} " + "29 " * 30)
    w.broker(f"topic-error {CHUNKS} 29")
    w.broker(f"errors {COMMIT} " + "30 " * 10)
    for reason in ("commits fail: ", "TOPIC_AUTHORIZATION_FAILED"):
        wait_for(lambda: f"not ready for {reason}: {w.bridge.reasons()} {w.bridge.tail()}", 30, lambda: w.bridge.unready(reason))
        w.times += 1
    w.notes.append("; ".join(w.bridge.reasons())[:80])
    for api in (FETCH, COMMIT):
        w.broker(f"clear {api}")
    w.broker(f"topic-error {CHUNKS} 0")
    if not w.bridge.alive():
        raise Failure(f"it ended with {w.bridge.child.returncode}: {w.bridge.tail()}")
    w.healed()
    w.finish()


@row(21, "bytes of a batch are flipped on their way")
def corrupted(w):
    flip, flipped = w.directory / "flip", w.directory / "flipped"
    flip.write_text("0")
    w.start(environment={"LD_PRELOAD": shim(), "CHAOS_FLIP": str(flip), "CHAOS_FLIPPED": str(flipped)})
    w.tell(seconds=2, part=0.4)
    w.wait_until_seen(20)
    flip.write_text("1")
    w.tell(seconds=0.2, part=0.8)
    wait_for("a flipped byte", 20, lambda: flipped.exists())
    time.sleep(3)
    flip.write_text("0")
    w.times += len(flipped.read_text())
    # A partition stands where its checksum fails, and says so, until somebody has looked.
    halted = [reason for reason in w.bridge.reasons() if "CRC32C" in reason]
    if not halted:
        w.violations.append(f"not ready for no such reason: {w.bridge.reasons()}")
    shown = [one for one in json.loads(w.bridge.page("/status")[1])["partitions"] if "CRC32C" in one.get("halted", "")]
    if len(shown) != len(halted):
        w.violations.append(f"/status shows {len(shown)} of {len(halted)} halted partitions")
    w.notes.append(f"{len(halted)} partitions halted")
    w.flush()
    w.look()
    w.bridge.stop()
    w.start()
    w.healed()
    w.tell(seconds=1)
    w.finish()


@row(24, "poisoned records: no JSON, wrong types, no id", quick=True)
def poison(w):
    w.start()
    # The story goes on beside them: offsets after the first are no longer the story's.
    w.checks_prefix = False
    w.tell(seconds=4)
    bad = ["{", "", "[]", "7", "null", '{"conversation_id":"p"}', '{"conversation_id":"p","message_sequence":-1,"run_id":"r"}',
           '{"conversation_id":"p","message_sequence":1,"run_id":"r","chunk_index":1.5}', "\u0000", "\x16\x03\x01\x00"]
    for number, text in enumerate(bad * 5):
        w.log.produce({"topic": CHUNKS, "partition": 3, "key": "p", "value": text, "poison": True})
        w.times += 1
        time.sleep(0.02)
    w.log.produce({"topic": RUNS, "partition": 3, "key": "p", "value": None, "poison": True})
    w.times += 1
    finish_beside_strangers(w, {f"{CHUNKS}/3": len(bad) * 5, f"{RUNS}/3": 1})
    letters = w.asker.ask("positions other firebridge.dead-letters")["firebridge.dead-letters/0"]["high"]
    if letters != w.times:
        w.violations.append(f"{letters} dead letters for {w.times} poisoned records")


def finish_beside_strangers(w, strangers):
    """As `finish`, with so many records beside the story's."""
    w.flush()
    counts = w._counts
    w._counts = lambda told: {place: count + (strangers.get(place, 0) if told == len(w.story.records) else 0)
                              for place, count in counts(told).items()}
    w.healed()
    w.finish()


@row(25, "records of 0 and 1 byte, 1 MB, 4 MB, a tombstone, with a thousand headers")
def huge(w):
    w.start()
    w.tell(seconds=2)
    w.settle()
    w.checks_prefix = False
    chunk = {"conversation_id": "huge", "message_sequence": 1, "run_id": "r", "timestamp": "2026-11-01T00:00:00Z"}
    # One after the other: the mock keeps five mebibytes of a partition.
    place = f"{CHUNKS}/2"
    big = [{"key": "huge", "value": {**chunk, "chunk_index": index, "content": "x" * size}}
           for index, size in enumerate((0, 1, 1_000_000, 4_000_000))]
    big += [{"key": "huge", "value": {**chunk, "chunk_index": 4, "content": "y"}, "headers": 1000},
            {"value": None, "poison": True, "headers": 1000}]
    for number, record in enumerate(big):
        w.log.produce({"topic": CHUNKS, "partition": 2, **record})
        w.log.flush()
        w.times += 1
        wait_for(lambda: f"it is taken: {w.bridge.tail()}", 60, lambda: w.committed[place] >= w.story.placed[(CHUNKS, 2)] + number + 1)
    finish_beside_strangers(w, {place: len(big)})
    letters = w.asker.ask("positions other firebridge.dead-letters")["firebridge.dead-letters/0"]["high"]
    w.notes.append(f"{letters} dead letters, {w.peak} MB at most")
    if letters != 1:
        w.violations.append(f"{letters} dead letters for one record that cannot be written")


@row(35, "older activities after newer ones")
def reordered(w):
    w.start()
    records = w.story.records
    # Each activity is told again later, behind newer ones.
    w.checks_prefix = False
    w.tell(seconds=3)
    w.join()
    again = [record for record in records if record["what"][0] == "status"]
    strangers = {}
    for record in again[::2]:
        w.log.produce(record)
        place = f"{record['topic']}/{record['partition']}"
        strangers[place] = strangers.get(place, 0) + 1
        w.times += 1
    finish_beside_strangers(w, strangers)


@row(44, "the dead-letter topic takes nothing for a while")
def no_dead_letters(w):
    w.start()
    w.tell(seconds=2, part=0.5)
    w.settle()
    w.checks_prefix = False
    place = f"{CHUNKS}/1"
    held = w.positions()[place]["high"]
    w.broker("topic-error firebridge.dead-letters 3")
    for _ in range(5):
        w.log.produce({"topic": CHUNKS, "partition": 1, "key": "p", "value": "{", "poison": True})
        w.times += 1
    w.log.flush()
    w.broker(f"errors {PRODUCE} " + "19 " * 10)
    w.tell(seconds=3)
    w.join()
    # Kafka's client gives the topic half a minute to appear.
    wait_for(lambda: f"the alarm: {w.bridge.tail()}", 90, lambda: w.bridge.says('"dead_letter_failed"'))
    told = ["the dead-letter topic does not exist: firebridge.dead-letters", "dead letters cannot be appended: "]
    wait_for(lambda: f"not ready for {told}: {w.bridge.reasons()}", 30,
             lambda: all(any(reason.startswith(text) for reason in w.bridge.reasons()) for text in told))
    found = w.positions()[place]
    if found["committed"] != held or found["high"] <= held + 5:
        w.violations.append(f"{place} is at {found} although the letter of {held} is not taken")
    w.broker(f"clear {PRODUCE}")
    w.broker("topic-error firebridge.dead-letters 0")
    w.notes.append(f"held at {held}")
    finish_beside_strangers(w, {place: 5})


@row(61, "retention passes a reader that lags")
def overtaken(w):
    w.start()
    w.tell(seconds=1, part=0.6)
    w.settle()
    w.judge()
    w.checks_prefix = False
    w.order.exempt.add("big")
    # The tree is slow; what the bridge has not read is gone before it comes to it.
    w.tree.faults({"method": "PATCH", "delay_ms": 1500})
    place = f"{CHUNKS}/0"
    for number in range(12_000):
        w.log.produce({"topic": CHUNKS, "partition": 0, "key": "big", "poison": True, "value": {
            "conversation_id": "big", "message_sequence": 1, "run_id": "r", "chunk_index": number, "content": "x" * 4000,
            "timestamp": "2026-11-02T00:00:00Z"}})
    w.log.flush()
    w.times += 1
    w.tree.faults()
    beside(w, {place: 12_000})
    w.healed()
    wait_for("the alarm", 60, lambda: w.bridge.says('"log_gap"') and w.bridge.metric("log_gaps_total") >= 1)
    high = w.positions()[place]["high"]
    wait_for(lambda: f"the rest is mirrored: {w.bridge.reasons()} {w.bridge.tail()}", 90, lambda: w.positions()[place]["committed"] == high)
    wait_for(lambda: f"ready: {w.bridge.reasons()}", 30, w.bridge.ready)
    # What the log still had when the gap was told is there, to the last record.
    first = int(w.bridge.events("log_gap")[-1]["first"])
    kept = w.tree.read("streaming/big/1/chunks")
    kept = {index: one for index, one in (enumerate(kept) if isinstance(kept, list) else ((int(key), one) for key, one in kept.items()))
            if one is not None}
    begin = 12_000 - (high - first)
    missing_ones = [index for index in range(begin, 12_000) if index not in kept]
    if missing_ones:
        w.violations.append(f"of {12_000 - begin} records after the gap {len(missing_ones)} were not mirrored")
    w.tell(seconds=1)
    finish_after_gap(w)


@row(50, "commits are answered two seconds late")
def late_commits(w):
    w.start(level="debug", properties=TALKING)
    w.tell(seconds=6)
    for _ in range(6):
        w.broker(f"late-error 1 {COMMIT} 0 2000")
        time.sleep(1)
    met(w, r"Received OffsetCommitResponse .*rtt (199|2\d\d)\d\.", least=3)
    w.healed()
    w.finish()


@row(51, "rejoins are refused: coordinator loading, unknown member, rebalance in progress")
def join_refused(w):
    w.broker(f"errors {JOIN} 14 15 16")
    w.broker(f"errors {SYNC} 27 22")
    w.start(level="debug", properties=TALKING)
    w.tell(seconds=8)
    w.wait_until_seen(20)
    w.broker(f"errors {HEARTBEAT} 27 25")
    w.broker(f"errors {JOIN} 25 14")
    w.broker(f"errors {SYNC} 27")
    # A rebalance is also what the broker itself says.
    for seen, least in (("heartbeat error response", 2), ("JoinGroup error: ", 5), ("SyncGroup error: .*generation id is not valid", 1)):
        met(w, seen, least)
    w.healed()
    w.finish()
