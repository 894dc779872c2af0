"""Broker, tree, bridge and log as processes."""
import atexit, json, os, shutil, signal, subprocess, threading, time, urllib.error, urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("FIREBRIDGE_SHARED", ROOT.parent / "shared"))
CLUSTER = SHARED / "kafka" / "cluster"
children = []


class Failure(Exception):
    """Why a row cannot be judged, or what is wrong in it."""


class Skipped(Exception):
    """What a row needs and does not find here."""


def program(name):
    builds = [os.environ["FIREBRIDGE_BUILD"]] if "FIREBRIDGE_BUILD" in os.environ else ["release", "debug"]
    for build in builds:
        path = ROOT / ".build" / build / name
        if path.exists():
            return str(path)
    raise Failure(f"{name} is not built: make chaos builds it")


@atexit.register
def end_all():
    for child in children:
        if child.poll() is None:
            try:
                child.send_signal(signal.SIGCONT)
                child.kill()
            except OSError:
                pass


def spawn(words, **options):
    child = subprocess.Popen([str(word) for word in words], **options)
    children.append(child)
    return child


def wait_for(what, seconds, condition):
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise Failure(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.05)


def fetch(url, method="GET", body=None, seconds=10):
    request = urllib.request.Request(url, data=body, method=method, headers={"User-Agent": "chaos"})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class MockBroker:
    """librdkafka's mock cluster, driven by lines."""
    real = False

    def __init__(self, directory, brokers=1):
        topics = [f"{topic}:4" for topic in ("llm.token-chunks", "llm.run-lifecycle", "llm.finalized-messages")]
        self.child = spawn([program("firebridge"), "mock-broker", brokers, *topics, "firebridge.dead-letters:1"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        self.bootstrap = self.child.stdout.readline().split()[1]
        self.prefix, self.properties = "", []

    def __call__(self, command):
        self.child.stdin.write(command + "\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline().strip()
        if answer != "ok":
            raise Failure(f"mock broker: {command}: {answer or 'gone'}")

    def freeze(self): self.child.send_signal(signal.SIGSTOP)
    def thaw(self): self.child.send_signal(signal.SIGCONT)

    def stop(self):
        self.thaw()
        self.child.kill()
        self.child.wait()


class RealKafka:
    """Apache Kafka by the shared script; its topics have a row's own prefix."""
    real = True

    def __init__(self, directory, nodes=1, options=(), tls=False, name="kafka"):
        if not CLUSTER.exists() or not shutil.which("java"):
            raise Skipped("there is no Apache Kafka beside the repository")
        self.directory = directory / name
        words = [CLUSTER, "start", self.directory, "--port", "0", "--nodes", nodes] + ["--tls"] * tls
        for option in options:
            words += ["--set", option]
        atexit.register(self.stop)  # also of what has started in part
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Failure(f"Kafka does not start: {done.stderr[-400:]}")
        started = json.loads(done.stdout)
        self.bootstrap, self.tls, self.ca = started["bootstrap"], started["tls"], started["ca"]
        self.prefix, self.properties = "", ["group.instance.id: chaos-NAME"]

    def run(self, *words):
        done = subprocess.run([str(word) for word in (CLUSTER, *words)], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Failure(f"cluster {words}: {done.stdout[-200:]}{done.stderr[-400:]}")

    def tool(self, *words): self.run("tool", self.directory, *words)
    def node(self, number, verb): self.run("node", self.directory, number, verb)

    def create(self, topics, replicas=1):
        for topic in topics:
            self.tool("topics", "--create", "--if-not-exists", "--topic", topic, "--partitions", 4, "--replication-factor", replicas)

    def stop(self):
        if self.directory.exists():
            subprocess.run([str(CLUSTER), "stop", str(self.directory)], capture_output=True)
            shutil.rmtree(self.directory, ignore_errors=True)


class Log:
    """chaos-log: produces, tells positions, judges trees."""

    def __init__(self, bootstrap):
        self.child = spawn([program("chaos-log"), bootstrap], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock, self.writing = threading.Lock(), threading.Lock()

    def send(self, line):
        with self.writing:
            self.child.stdin.write(line + "\n")

    def ask(self, line):
        with self.lock:
            self.send(line)
            self.flush_lines()
            text = self.child.stdout.readline()
        if not text:
            raise Failure("chaos-log has ended")
        answer = json.loads(text)
        if "error" in answer:
            raise Failure(f"{line.split()[0]}: {answer['error']}")
        return answer

    def produce(self, record):
        self.send(json.dumps({key: value for key, value in record.items() if key not in ("offset", "what")}))

    def flush_lines(self):
        with self.writing:
            self.child.stdin.flush()

    def flush(self): return self.ask("flush")["produced"]

    def stop(self):
        self.child.kill()
        self.child.wait()


class Tree:
    """firebridge tree with faults that change while it runs."""

    def __init__(self, directory):
        self.file, self.log, self.seed = directory / "faults.json", directory / "tree.log", 0
        self.file.write_text("{}")
        with open(self.log, "w") as log:
            self.child = spawn([program("firebridge"), "tree", "--listen", "127.0.0.1:0", "--fence", "--fault", self.file],
                               stderr=log, stdout=log)
        def listening():
            for line in self.log.read_text().splitlines():
                if "listening on http://" in line:
                    return line.split("//")[1].split("/")[0]
        self.address = wait_for("the tree listens", 20, listening)
        self.port = int(self.address.rsplit(":", 1)[1])
        self.hits = 0

    def url(self, path): return f"http://{self.address}/{path}.json?ns=chaos"

    def _figures(self):
        return json.loads(fetch(f"http://{self.address}/.faults.json")[1])

    def count(self):
        """How many requests have met a fault since the last change."""
        return sum(rule["hits"] for rule in self._figures()["rules"])

    def faults(self, *rules, seed=None, **limits):
        """Replaces the faults. They meet the bridge alone."""
        self.hits += self.count()
        self.seed += 1
        plan = {"seed": self.seed, **limits, "rules": [{"agent": "firebridge**", **rule} for rule in rules]}
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(plan))
        new.rename(self.file)
        wait_for(lambda: f"new faults: {self.log.read_text()[-300:]}", 10, lambda: self._figures()["seed"] == self.seed)

    def read(self, path=""):
        status, body = fetch(self.url(path), seconds=30)
        if status != 200:
            raise Failure(f"the tree answers {status} to GET /{path}")
        return json.loads(body) or {}

    def stop(self):
        self.child.send_signal(signal.SIGCONT)
        self.child.kill()
        self.child.wait()


CONFIGURATION = """kafka:
  brokers: [{brokers}]
  group: {group}
  on_gap: {on_gap}
  properties:
{properties}
database:
  url: {url}
  fence: true
  ca_file: "{ca_file}"
  credentials:
    type: {credentials}
    file: "{credentials_file}"
mappings:
  - topic: {prefix}llm.token-chunks
    as: chunk
    node: streaming/{{conversation_id}}/{{message_sequence}}
  - topic: {prefix}llm.run-lifecycle
    as: run
    status: conversations/{{conversation_id}}/status
    marker: events/{{event_name}}/{{conversation_id}}/runs
    stream: streaming/{{conversation_id}}/{{message_sequence}}
  - topic: {prefix}llm.finalized-messages
    as: message
    node: events/{{event_name}}/{{conversation_id}}/messages
delivery:
  dead_letter_topic: {prefix}firebridge.dead-letters
  drain: {drain}
  request_timeout: {request_timeout}
  retry_max: {retry_max}
{delivery}
streams:
  keep: 0
  stall_after: {stall_after}
server:
  listen: 127.0.0.1:0
log:
  format: json
  level: {level}
"""
DEFAULTS = dict(stall_after="0", on_gap="earliest", drain="20s", request_timeout="2s", retry_max="2s", delivery="", level="info",
                ca_file="", credentials="emulator", credentials_file="", group="chaos")


class Bridge:
    """firebridge run, and what it says of itself."""

    def __init__(self, directory, name, settings, wrap=(), environment=None, stderr=None):
        self.name, self.file, self.log = name, directory / f"{name}.yaml", directory / f"{name}.log"
        self.file.write_text(CONFIGURATION.format(**settings))
        self.base = None
        self.expected = None  # the codes with which it may end, once it is told to
        with open(self.log, "a") as log:
            self.began = log.tell()
            self.child = spawn([*wrap, program("firebridge"), "run", "--config", self.file], stdout=log,
                               stderr=stderr or log, stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})

    def lines(self):
        with open(self.log, errors="replace") as log:
            log.seek(self.began)
            return log.read().splitlines()

    def says(self, text): return sum(text in line for line in self.lines())

    def tail(self): return f"{self.name}: " + " | ".join(self.lines()[-6:])[-1500:]

    def alive(self): return self.child.poll() is None

    def page(self, path):
        if self.base is None:
            for line in self.lines():
                if '"event":"started"' in line:
                    self.base = json.loads(line)["status"]
        if self.base is None:
            return None
        try:
            status, body = fetch(self.base + path, seconds=5)
            return status, body.decode()
        except OSError:
            return None

    def ready(self):
        page = self.page("/readyz")
        return page is not None and page[0] == 200

    def unready(self, reason=""):
        """Whether it says itself that it is not ready, for a reason that has this text."""
        return any(reason in one for one in self.reasons())

    def reasons(self):
        page = self.page("/readyz")
        return [] if page is None or page[0] == 200 else json.loads(page[1])["reasons"]

    def events(self, name):
        """The log events of that name, as they were logged."""
        found = [json.loads(line) for line in self.lines() if f'"event":"{name}"' in line]
        return [{**one, **one.get("fields", {})} for one in found]

    def metric(self, name):
        page = self.page("/metrics")
        lines = page[1].splitlines() if page else []
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.split("{")[0].split(" ")[0] == "firebridge_" + name)

    def rss(self):
        """The most memory that it has had, in MB."""
        try:
            text = Path(f"/proc/{self.child.pid}/status").read_text()
            return int(text.split("VmHWM:")[1].split()[0]) // 1024
        except (OSError, IndexError):
            return 0

    def signal(self, number): self.child.send_signal(number)

    def kill(self):
        self.expected = self.expected or (-signal.SIGKILL,)
        self.child.send_signal(signal.SIGCONT)
        self.child.kill()
        self.child.wait()

    def exit(self, seconds, codes=(0,)):
        """Waits for its end, which is to be with one of these codes."""
        self.expected = codes
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"it has not ended within {seconds} s: {self.tail()}") from None

    def stop(self, seconds=40, codes=(0,)):
        self.signal(signal.SIGTERM)
        return self.exit(seconds, codes)
