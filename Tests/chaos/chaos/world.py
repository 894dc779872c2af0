"""A row's own broker, tree, proxy and bridges; what it tells, and what is judged at its end."""
import json, shutil, tempfile, threading, time
from pathlib import Path

from .parts import DEFAULTS, Bridge, Failure, Log, MockBroker, Tree, wait_for
from .proxy import Proxy
from .story import PARTITIONS, TOPICS, Story, missing
from .watch import OrderWatch, StatusWatch

QUICK = ["session.timeout.ms: 6000", "heartbeat.interval.ms: 300", "fetch.wait.max.ms: 10", "topic.metadata.refresh.interval.ms: 500"]


class World:
    def __init__(self, name, seed, broker=None, prefix="", brokers=1, proxy=Proxy, **story):
        self.directory = Path(tempfile.mkdtemp(prefix=f"chaos-{name}-"))
        self.seed, self.times, self.notes, self.violations = seed, 0, [], []
        self.owns_broker = broker is None
        self.broker = broker or MockBroker(self.directory, brokers)
        self.prefix = prefix
        self.tree = Tree(self.directory)
        self.proxy = proxy(self.tree.port)
        self.log, self.asker = Log(self.broker.bootstrap), Log(self.broker.bootstrap)
        self.story = Story(seed, prefix=prefix, **story)
        self.bridges, self.told, self.flushed = [], 0, {}
        self.statuses, self.order = StatusWatch(self.tree.address), OrderWatch(self.tree.address)
        self.teller = None
        # What the group has committed, as it was seen, and when the last fault ended.
        self.committed, self.early, self.highs = {}, [], {}
        self.healed_at = self.target = self.recovery = None
        self.ends, self.looks, self.look_failed = threading.Event(), 0, "none was tried"
        self.peak = 0  # the bridge's memory, in MB
        self.lost, self.allows_loss, self.checks_prefix, self.rewound = 0, False, True, False
        self.poller = threading.Thread(target=self._poll, daemon=True)

    # MARK: the parts

    def settings(self, name="bridge", properties=(), **changes):
        kept = {**DEFAULTS, **changes}
        named = {line.split(":")[0] for line in properties}
        lines = [line for line in QUICK if line.split(":")[0] not in named] + list(properties)
        if self.broker.properties:
            lines += [line.replace("NAME", name) for line in self.broker.properties]
        kept["properties"] = "\n".join(f"    {line}" for line in lines)
        kept["delivery"] = "\n".join(f"  {line}" for line in kept["delivery"].splitlines())
        kept.setdefault("url", f"http://127.0.0.1:{self.proxy.port}/?ns=chaos")
        kept.setdefault("brokers", self.broker.bootstrap)
        return {**kept, "prefix": self.prefix}

    def start(self, name="bridge", wait=True, wrap=(), environment=None, stderr=None, **changes):
        """Starts a bridge; with `wait` until it mirrors."""
        bridge = Bridge(self.directory, name, self.settings(name, **changes), wrap, environment, stderr)
        self.bridges.append(bridge)
        if wait:
            wait_for(lambda: f"ready: {bridge.reasons()} {bridge.tail()}", 60, bridge.ready)
        return bridge

    @property
    def bridge(self): return self.bridges[-1]

    # MARK: what is told

    def tell(self, seconds=4.0, part=1.0):
        """Produces the rest of the story, or a part of it, meanwhile: evenly over so many seconds."""
        self.join()
        count = int((len(self.story.records) - self.told) * part)
        records = self.story.records[self.told:self.told + count]
        def run():
            began = time.monotonic()
            for number, record in enumerate(records):
                late = began + seconds * number / len(records) - time.monotonic()
                if late > 0.01:
                    self.log.flush_lines()
                    time.sleep(late)
                self.log.produce(record)
                self.told += 1
            self.log.flush_lines()
        self.teller = threading.Thread(target=run, daemon=True)
        self.teller.start()
        if not self.poller.is_alive() and not self.ends.is_set():
            self.poller.start()

    def join(self):
        if self.teller is not None:
            self.teller.join(300)
            if self.teller.is_alive():
                raise Failure("the records could not be produced")
            self.teller = None

    def flush(self):
        self.join()
        self.log.flush()

    def chunks_seen(self): return sum(self.order.lengths.values())

    def wait_until_seen(self, more=20, seconds=30):
        """Waits until readers have seen so many more chunks: the bridge is at work."""
        goal = self.chunks_seen() + more
        wait_for(lambda: f"{more} more chunks: {[b.tail() for b in self.bridges]}", seconds, lambda: self.chunks_seen() >= goal)

    # MARK: commits

    def positions(self):
        group = DEFAULTS["group"]
        return self.asker.ask(f"positions {group} " + " ".join(self.prefix + topic for topic in TOPICS))

    def _poll(self):
        while not self.ends.is_set():
            try:
                self.look()
                self.looks += 1
            except Exception as error:  # whatever it is: who no longer looks sees no faults
                self.look_failed = f"{type(error).__name__}: {error}"
            self.ends.wait(0.25)

    def look(self):
        """Asks for the commits, then for the tree: what is committed must be there."""
        self.peak = max([self.peak] + [bridge.rss() for bridge in self.bridges if bridge.alive()])
        found = self.positions()
        at = time.monotonic()
        for place, known in found.items():
            if known["committed"] < self.committed.get(place, -1) and not self.rewound:
                self.early.append(f"{place}: commit {known['committed']} after {self.committed[place]}")
            self.committed[place] = known["committed"]
            self.highs[place] = known["high"]
        if self.target is not None and self.recovery is None and self.reached(self.target):
            self.recovery = at - self.healed_at
        if self.checks_prefix:
            tree = self.tree.read()
            for record in self.story.records[:self.told]:
                if record["offset"] < self.committed.get(f"{record['topic']}/{record['partition']}", -1):
                    gone = missing(record, tree)
                    if gone:
                        self.early.append(f"committed, but not in the tree: {gone}")
        return found

    def reached(self, target):
        return all(self.committed.get(place, -1) >= count for place, count in target.items())

    def _counts(self, told):
        counts = {}
        for record in self.story.records[:told]:
            counts[f"{record['topic']}/{record['partition']}"] = record["offset"] + 1
        return counts

    def healed(self):
        """The fault is over: from here on it is timed how long the delivery of all that has been told takes."""
        self.target = None  # the poller judges by it
        self.healed_at, self.recovery = time.monotonic(), None
        self.target = self._counts(self.told)

    # MARK: the end

    def settle(self, seconds=90):
        """Waits until all that was told is committed."""
        self.flush()
        if self.healed_at is None:
            self.healed()
        goal = self._counts(self.told)
        wait_for(lambda: f"all committed: {self.behind(goal)} {[b.reasons() for b in self.bridges if b.alive()]} "
                 f"{[b.tail() for b in self.bridges]}", seconds, lambda: self.reached(goal) and self.recovery is not None)

    def behind(self, goal):
        return {place: (self.committed.get(place), count) for place, count in goal.items() if self.committed.get(place, -1) < count}

    def judge(self):
        """Compares the tree with the log; differences count as lost."""
        file = self.directory / "tree.json"
        file.write_text(json.dumps(self.tree.read()))
        found = self.log.ask(f"judge {file}")
        if not self.allows_loss:
            self.lost += found["count"]
            self.violations += found["differences"][:5]
        return found

    def finish(self, stops=True, seconds=90, recovers=None):
        """Everything is delivered, the tree is as the log says, and each bridge ends cleanly."""
        self.settle(seconds)
        if recovers is not None and self.recovery > recovers:
            self.violations.append(f"recovery took {self.recovery:.0f} s, expected {recovers} at most")
        self.judge()
        self.end(stops)

    def end(self, stops=True):
        """Ends the bridges, and judges those that have ended before, and the readers."""
        for bridge in self.bridges:
            if stops and bridge.alive() and bridge.expected is None:
                bridge.stop()
            if not bridge.alive() and bridge.child.returncode not in (bridge.expected or ()):
                self.violations.append(f"{bridge.name} ended with {bridge.child.returncode}, expected {bridge.expected or 'no end'}: "
                                       f"{bridge.tail()}")
        self.look()
        if self.poller.is_alive() and not self.looks:
            self.violations.append(f"commits and tree could never be compared: {self.look_failed}")
        self.check_watchers()

    def check_watchers(self):
        """The readers have seen all that the tree holds, so that what they did not see wrong was not."""
        for watch in (self.statuses, self.order):
            try:
                wait_for(lambda: watch.ended or "it is behind", 20, lambda: watch.ended or watch.has(self.tree.read(watch.path)))
            except Failure as error:
                self.violations.append(f"a reader of {watch.path}: {error}")
            if watch.ended:
                self.violations.append(f"a reader of {watch.path}: {watch.ended}")

    def close(self, keep=False):
        self.ends.set()
        if self.poller.is_alive():
            self.poller.join(20)
        for bridge in self.bridges:
            if bridge.alive():
                bridge.kill()
        self.statuses.stop()
        self.order.stop()
        for part in [self.log, self.asker, self.tree] + ([self.broker] if self.owns_broker else []):
            part.stop()
        if not keep:
            shutil.rmtree(self.directory, ignore_errors=True)
