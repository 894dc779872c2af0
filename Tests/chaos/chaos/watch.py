"""Readers of the tree's event streams, who see what must never be seen."""
import datetime, hashlib, http.client, json, multiprocessing, threading, time


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


class Stream(threading.Thread):
    """An event stream kept as a replica; `look` is called after each event with the paths that changed."""
    LEVELS = 32  # of the replica; that there is something below them is all that is kept of it

    def __init__(self, address, path):
        super().__init__(daemon=True)
        self.tolerant = False  # nodes may be removed by hand
        self.path, self.node, self.ended = path, {}, None
        self.connection = http.client.HTTPConnection(address, timeout=120)
        self.connection.request("GET", f"/{path}.json?ns=chaos", headers={"Accept": "text/event-stream", "User-Agent": "chaos"})
        self.answer = self.connection.getresponse()
        self.start()

    def run(self):
        try:
            kind = ""
            while True:
                line = self.answer.readline()
                if not line:
                    self.ended = "the stream has ended"
                    return
                line = line.decode().rstrip("\n")
                if line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("data: ") and kind in ("put", "patch"):
                    event = json.loads(line[6:])
                    self.take(kind, event["path"], event["data"])
        except Exception as error:  # whatever it is: a reader that has ended sees no faults
            self.ended = self.ended or f"{type(error).__name__}: {error}"

    def take(self, kind, path, data):
        changed = []
        if kind == "put":
            self.put(path, data)
            changed.append(path)
        else:
            for key, value in (data or {}).items():
                place = path.rstrip("/") + "/" + key
                self.put(place, value)
                changed.append(place)
        self.look(changed)

    def put(self, path, value):
        keys = [key for key in path.split("/") if key]
        value = plain(value, self.LEVELS - len(keys))
        if not keys:
            self.node = value if isinstance(value, dict) else {}
            return
        node = self.node
        for key in keys[:-1]:
            node = node.setdefault(key, {})
            if not isinstance(node, dict):
                return
        if value is None:
            node.pop(keys[-1], None)
        else:
            node[keys[-1]] = value

    def look(self, changed): pass

    def has(self, value):
        """Whether it has seen all that makes the node what it is."""
        try:
            return self.node == (plain(value, self.LEVELS) or {})
        except RuntimeError:  # it changes meanwhile
            return False

    def stop(self):
        self.ended = self.ended or "stopped"
        try:
            self.connection.sock and self.connection.sock.shutdown(2)
        except OSError:
            pass


def plain(value, levels):
    """Arrays as the objects that they stand for, without nulls, so many levels deep."""
    if isinstance(value, list):
        value = {str(index): one for index, one in enumerate(value)}
    if isinstance(value, dict):
        return {key: plain(one, levels - 1) for key, one in value.items() if one is not None} if levels > 0 else True
    return value


def digest(node):
    return hashlib.sha256(json.dumps(node, sort_keys=True).encode()).hexdigest()


class StatusWatch(Stream):
    """Notes each status whose (seq, since) falls behind one that was seen."""

    def __init__(self, address):
        self.best, self.falls = {}, []
        super().__init__(address, "conversations")

    def look(self, changed):
        names = {path.split("/")[1] for path in changed if path != "/"}
        if "/" in changed:
            names |= {*self.node, *self.best}
        for name in names:
            status = self.node.get(name, {}).get("status")
            if status is None:
                if self.tolerant:
                    self.best.pop(name, None)
                elif name in self.best:
                    self.falls.append(f"the status of {name} has gone")
                continue
            now = (int(status["seq"]), instant(status["since"]))
            if now < self.best.get(name, now):
                self.falls.append(f"{name}: {now[0]} after {self.best[name][0]}")
            self.best[name] = max(now, self.best.get(name, now))


class OrderWatch(Stream):
    """Notes each stream that shows a chunk without those before it, and each that loses one or takes a run back."""
    LEVELS = 4

    def __init__(self, address):
        self.lengths, self.runs, self.faults, self.conversations = {}, {}, [], set()
        # Of these the log has a gap.
        self.exempt, self.strict = set(), True
        super().__init__(address, "streaming")

    def look(self, changed):
        # What is far from a change is not looked at: a reader that falls behind is cut off.
        places = {tuple(path.split("/")[1:3]) for path in changed if path.count("/") >= 2}
        names = {path.split("/")[1] for path in changed if path.count("/") == 1 and path != "/"}
        if "/" in changed:
            names |= set(self.node)
            places |= set(self.lengths)
        places |= {(name, message) for name in names for message in self.node.get(name, {})}
        if gone := {name for name in names if name not in self.node}:
            places |= {place for place in self.lengths if place[0] in gone}
        for place in places:
            if len(place) < 2:
                continue
            stream = self.node.get(place[0], {}).get(place[1])
            if not isinstance(stream, dict):
                if self.lengths.pop(place, None) is not None and not self.tolerant:
                    self.faults.append(f"{place} has gone")
                self.runs.pop(place, None)
                continue
            self.conversations.add(place[0])
            run = stream.get("meta", {}).get("run_id", "")
            before = self.runs.get(place, run)
            if run < before:
                self.faults.append(f"{place}: run {run} after {before}")
            chunks = stream.get("chunks", {})
            if place[0] in self.exempt or not self.strict:
                continue
            if any(str(index) not in chunks for index in range(len(chunks))):
                self.faults.append(f"{place}: of {len(chunks)} chunks one before the last is not there")
            if run == before and len(chunks) < self.lengths.get(place, 0):
                self.faults.append(f"{place}: {len(chunks)} chunks after {self.lengths[place]}")
            self.runs[place], self.lengths[place] = run, len(chunks)


class Apart:
    """A reader in a process of its own, for trees that change faster than one interpreter can tell, read and judge."""

    def __init__(self, kind, address):
        self.levels, self.falls, self.faults, self.ended = kind.LEVELS, [], [], None
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=report, args=(kind, address, other), daemon=True)
        self.process.start()
        other.close()
        self.path, self.digest = self.pipe.recv(), None
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        try:
            while True:
                self.ended, self.falls, self.faults, found = self.pipe.recv()
                self.digest = found or self.digest
        except (EOFError, OSError):
            self.ended = self.ended or "its process has ended"

    def has(self, value):
        """Whether it has seen all that makes the node what it is."""
        self.digest = None
        self.pipe.send("digest")
        while self.digest is None and not self.ended:
            time.sleep(0.05)
        return self.digest == digest(plain(value, self.levels) or {})

    def stop(self):
        self.process.kill()


def report(kind, address, pipe):
    """What that process does: says twice a second what its reader has seen."""
    watch = kind(address)
    watch.tolerant = True
    try:
        pipe.send(watch.path)
        while True:
            found = None
            if pipe.poll(0.5):
                pipe.recv()
                try:
                    found = digest(watch.node)
                except RuntimeError:  # it changes meanwhile
                    found = "changing"
            pipe.send((watch.ended, getattr(watch, "falls", [])[:5], getattr(watch, "faults", [])[:5], found))
    except (EOFError, OSError):
        return
