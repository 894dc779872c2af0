"""Faults of the bridge's process: signals, stops, crashes, resources."""
import ctypes, fcntl, json, os, random, re, select, signal, subprocess, sys, termios, time
from contextlib import contextmanager
from pathlib import Path

from .matrix import row
from .native import shim
from .parts import Failure, program, wait_for
from .story import CHUNKS
from .tree_rows import certificate, tls_proxy

BOUND_MB = 200


@row(1, "SIGKILL at random moments", conversations=80)
def killed(w):
    chance = random.Random(w.seed)
    w.start()
    # A death costs a session of six seconds, and the next one wants records that are still to come.
    w.tell(seconds=40)
    for _ in range(3):
        w.wait_until_seen(15)
        time.sleep(chance.uniform(0, 0.3))
        w.bridge.kill()
        w.times += 1
        # Static membership is not the mock's: the dead member's session must pass.
        w.start()
    w.healed()
    w.finish()


@row(2, "SIGKILL after the write, before its answer and the commit", conversations=60)
def killed_before_commit(w):
    w.start()
    w.tell(seconds=40)
    for _ in range(3):
        w.wait_until_seen(5)
        w.tree.faults({"method": "PATCH", "hold_ms": 1500, "skip": 1, "times": 4})
        wait_for("a write whose answer is held", 30, lambda: w.tree.count() > 0)
        time.sleep(0.1)
        w.bridge.kill()
        w.times += 1
        w.tree.faults()
        w.start()
    w.healed()
    w.finish()


@row(3, "SIGTERM under load")
def terminated(w):
    w.start()
    w.tell(seconds=4, part=0.6)
    w.wait_until_seen(50)
    code = w.bridge.stop(25)
    w.times += 1
    if code != 0:
        raise Failure(f"exit {code}: {w.bridge.tail()}")
    w.look()
    w.join()
    w.start()
    w.healed()
    w.tell(seconds=1)
    w.finish()


@row(4, "SIGTERM while the broker is silent")
def terminated_without_broker(w):
    w.start(drain="5s")
    w.tell(seconds=4, part=0.5)
    w.wait_until_seen(20)
    w.flush()
    w.broker.freeze()
    time.sleep(0.5)
    began = time.monotonic()
    w.bridge.signal(signal.SIGTERM)
    code = w.bridge.exit(20, codes=(0, 75))
    w.times += 1
    w.notes.append(f"exit {code} after {time.monotonic() - began:.1f} s")
    if code not in (0, 75):
        raise Failure(f"exit {code}")
    w.broker.thaw()
    w.start()
    w.healed()
    w.tell(seconds=1)
    w.finish()


@row(5, "SIGTERM while the tree never answers", quick=True)
def terminated_without_tree(w):
    w.start(drain="3s")
    w.tell(seconds=3, part=0.6)
    w.wait_until_seen(20)
    w.proxy.silent = True
    time.sleep(1)
    began = time.monotonic()
    w.bridge.signal(signal.SIGTERM)
    code = w.bridge.exit(15, codes=(75,))
    w.times += 1
    w.notes.append(f"exit {code} after {time.monotonic() - began:.1f} s")
    if code != 75:
        raise Failure(f"exit {code}: {w.bridge.tail()}")
    w.proxy.reset()
    w.proxy.silent = False
    w.join()
    w.start()
    w.healed()
    w.tell(seconds=1)
    w.finish()


@row(6, "a second SIGTERM")
def terminated_twice(w):
    w.start()
    w.tell(seconds=3, part=0.6)
    w.wait_until_seen(20)
    w.proxy.silent = True
    time.sleep(0.7)
    w.bridge.signal(signal.SIGTERM)
    time.sleep(0.5)
    began = time.monotonic()
    w.bridge.signal(signal.SIGTERM)
    code = w.bridge.exit(3, codes=(75,))
    w.times += 1
    w.notes.append(f"exit {code} after {time.monotonic() - began:.1f} s")
    if code != 75:
        raise Failure(f"exit {code}: {w.bridge.tail()}")
    w.proxy.reset()
    w.proxy.silent = False
    w.start()
    w.healed()
    w.tell(seconds=1)
    w.finish()


@row(7, "SIGSTOP for twice the session, a second member takes over, SIGCONT", quick=True, conversations=80)
def zombie(w):
    first, second = w.start("first"), w.start("second", wait=False)
    w.tell(seconds=22)
    wait_for("both have partitions", 30, lambda: first.metric("assigned_partitions") and second.metric("assigned_partitions"))
    w.wait_until_seen(30)
    taken, lost = len(second.events("assigned")), len(first.events("revoked"))
    # A write of the first one is under way when it stops.
    w.tree.faults({"method": "PATCH", "delay_ms": 400, "times": 4})
    wait_for("a write under way", 20, lambda: w.tree.count() > 0)
    first.signal(signal.SIGSTOP)
    w.tree.faults()
    time.sleep(12)
    wait_for(lambda: f"the second takes over: {second.tail()}", 20, lambda: len(second.events("assigned")) > taken)
    first.signal(signal.SIGCONT)
    wait_for(lambda: f"the first has lost its own: {first.tail()}", 20, lambda: any(one["lost"] for one in first.events("revoked")[lost:]))
    w.times += 1
    w.healed()
    w.finish()


@row(8, "SIGHUP with a configuration that is wrong")
def bad_reload(w):
    w.start()
    good = w.bridge.file.read_text()
    w.tell(seconds=4)
    for text in ("delivery: [", good.replace("group: chaos", "grupp: chaos"), good + "delivery: {}\n"):
        w.bridge.file.write_text(text)
        before = w.bridge.says('"reload_refused"')
        w.bridge.signal(signal.SIGHUP)
        wait_for("the refusal", 10, lambda: w.bridge.says('"reload_refused"') > before)
        w.times += 1
    w.bridge.file.write_text(good.replace("level: info", "level: debug"))
    w.bridge.signal(signal.SIGHUP)
    wait_for("the reload", 30, lambda: w.bridge.says('"reloading"') > 0)
    w.healed()
    w.finish()


@row(22, "members join and leave in a storm", conversations=100)
def storm(w):
    w.start("a")
    w.tell(seconds=25)
    chance = random.Random(w.seed)
    def members():
        """Who has been told to end is none any more."""
        return [bridge for bridge in w.bridges if bridge.expected is None]
    leaving = []
    for number in range(10):
        if len(members()) > 1 and chance.random() < 0.5:
            one = chance.choice(members())
            if chance.random() < 0.5:
                one.kill()
            else:
                one.signal(signal.SIGTERM)
                one.expected = (0,)
                leaving.append(one)
            w.times += 1
        elif len(members()) < 3:
            w.start(f"m{number}", wait=False)
            w.times += 1
        time.sleep(2)
    for one in leaving:
        one.exit(40)
    w.healed()
    w.finish(seconds=120)


@contextmanager
def standing(child):
    """The process's first thread stands still; its others go on."""
    pid = child.pid
    libc = ctypes.CDLL(None, use_errno=True)
    seize, interrupt, detach = 0x4206, 0x4207, 17
    def ptrace(request):
        if libc.ptrace(request, pid, None, None) != 0:
            raise Failure(f"ptrace: {os.strerror(ctypes.get_errno())}")
    # Whoever asks meanwhile whether it lives is told so, and does not take the news that it stands for its end.
    with child._waitpid_lock:
        ptrace(seize)
        ptrace(interrupt)
        _, status = os.waitpid(pid, 0x40000000)  # __WALL: until it stands
    if not os.WIFSTOPPED(status):
        raise Failure(f"it has ended: status {status}")
    try:
        yield
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state != "t":
            raise Failure(f"it does not stand any more: {state}")
    finally:
        ptrace(detach)


@row(23, "the loop stands for longer than max.poll.interval.ms, Kafka's own threads do not")
def poll_interval(w):
    w.start(properties=["max.poll.interval.ms: 6000"])
    w.tell(seconds=16)
    w.wait_until_seen(20)
    before = w.bridge.says('"revoked"')
    with standing(w.bridge.child):
        time.sleep(9)
    w.times += 1
    wait_for(lambda: f"it is told: {w.bridge.tail()}", 20, lambda: w.bridge.says('"revoked"') > before)
    if not w.bridge.says("MAXPOLL") and not w.bridge.says("MAX_POLL"):
        w.violations.append("Kafka's client has not missed the loop")
    w.healed()
    w.finish()


@row(26, "a slow tree and a fast producer: memory", conversations=500, chunks=60, active=100)
def memory(w):
    # Far less than there is to read.
    limit = 1 << 20
    w.start(delivery=f"in_flight_bytes_max: {limit}")
    w.tree.faults({"method": "PATCH", "delay_ms": 1000})
    w.checks_prefix = False
    w.tell(seconds=6)
    most = 0
    while w.teller.is_alive():
        most = max(most, w.bridge.metric("in_flight_bytes"))
        time.sleep(0.1)
    w.join()
    time.sleep(2)
    most = max(most, w.bridge.metric("in_flight_bytes"))
    w.times += w.tree.count()
    w.tree.faults()
    w.healed()
    w.settle()
    w.notes.append(f"{w.peak} MB at most, {most / 1024:.0f} KiB in flight")
    if not limit / 2 < most < limit * 1.5:
        w.violations.append(f"{most:.0f} bytes in flight at most, where {limit} are allowed and more was there")
    if w.peak > BOUND_MB:
        w.violations.append(f"{w.peak} MB, the bound is {BOUND_MB}")
    w.finish()


@contextmanager
def limited(bridge, what, most):
    """It gets no more than so much of something, for a while."""
    owner = os.stat(f"/proc/{bridge.child.pid}")  # who alone may do that, where root may not do all
    def prlimit(*words):
        return subprocess.run(["prlimit", "--pid", str(bridge.child.pid), *words], check=True, capture_output=True, text=True,
                              user=owner.st_uid, group=owner.st_gid).stdout.strip()
    before = prlimit(f"--{what}", "--output=SOFT", "--noheadings", "--raw")
    prlimit(f"--{what}={most}:")
    try:
        yield
    finally:
        if bridge.alive():
            prlimit(f"--{what}={before}:")


@row(41, "no new threads, no free file descriptors, no more memory, then some again")
def descriptors(w):
    def shown(text):
        wait_for(lambda: f"{text}: {w.bridge.tail()}", 30, lambda: w.bridge.says(text))
        w.times += 1
    if start_named(w):
        w.tell(seconds=14, part=0.5)
        w.wait_until_seen(20)
        with limited(w.bridge, "nproc", 1):
            time.sleep(5)  # so long it remembers an address
            w.proxy.reset()
            shown("thread failed to start")
            time.sleep(2)
        w.settle()
        w.bridge.stop()
    w.start("plain")
    w.tell(seconds=8)
    w.wait_until_seen(20)
    with limited(w.bridge, "nofile", 8):
        w.proxy.reset()
        shown(f"Failed to connect to 127.0.0.1 port {w.proxy.port}")  # where nobody refuses it
        time.sleep(2)
    w.settle()
    # Of its address space it may have what it has: no room for a record of 4 MB.
    w.story.add(CHUNKS, "huge", 2, {
        "conversation_id": "huge", "message_sequence": 1, "run_id": "r", "chunk_index": 0, "content": "x" * 4_000_000,
        "timestamp": "2026-11-01T00:00:00Z"}, ("chunk", "huge", "1", "r", 0))
    with limited(w.bridge, "as", int(Path(f"/proc/{w.bridge.child.pid}/statm").read_text().split()[0]) * 4096):
        w.tell(seconds=0)
        code = w.bridge.exit(30, codes=NO_MEMORY)
    # Who cannot have memory dies; what it had delivered stands.
    w.times += 1
    w.notes.append(f"without memory it ended with {code}")
    w.start("last")
    w.healed()
    w.finish()


# A trap, or an abort, of the allocator or of who has asked it.
NO_MEMORY = (-signal.SIGABRT, -signal.SIGILL, -signal.SIGTRAP, -signal.SIGSEGV)


def start_named(w):
    """Starts a bridge whose database has a name: each look at it takes a thread. Not as root, whose threads nothing limits."""
    hosts = w.directory / "hosts"
    hosts.write_text("127.0.0.1 localhost tree.example\n")
    w.directory.chmod(0o755)
    root = os.geteuid() == 0
    run = 'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' if root else 'exec "$@"'
    wrap = ["unshare", "-m" if root else "-rm", "sh", "-c", f"mount --bind {hosts} /etc/hosts && {run}", "sh"]
    if subprocess.run([*wrap, "test", "-x", program("firebridge")], capture_output=True).returncode != 0:
        w.notes.append("threads were not taken away: that needs a namespace of our own, and as root another user who may run it")
        return False
    cert, key = certificate(w, "name", "DNS:tree.example")
    port = tls_proxy(w.proxy.port, cert, key)
    return w.start("named", wrap=wrap, url=f"https://tree.example:{port}/?ns=chaos", ca_file=str(cert))


@row(42, "the wall clock jumps an hour ahead and two back")
def clock(w):
    library = shim()
    offset = w.directory / "offset"
    offset.write_text("0")
    w.start(environment={"LD_PRELOAD": library, "CHAOS_CLOCK": str(offset)}, stall_after="10m")
    w.tell(seconds=24)
    for seconds in ("3600", "-3600", "0"):
        w.wait_until_seen(15)
        offset.write_text(seconds)
        w.times += 1
        time.sleep(6)  # open streams are looked at every two seconds
    w.healed()
    page = wait_for(lambda: f"its figures: {w.bridge.tail()}", 20, lambda: w.bridge.page("/metrics"))[1]
    stalled = re.search(r"^firebridge_streams_stalled_total (\S+)$", page, re.MULTILINE)
    w.finish()
    ledger = json.dumps(w.tree.read("_firebridge/streams"))
    ages = [time.time() - int(at) / 1000 for at in re.findall(r'"at": (\d+)', ledger)]
    if not any(age < -3000 for age in ages) or not any(age > 3000 for age in ages):
        w.violations.append("its clock has not jumped")
    if stalled is None or float(stalled.group(1)) > 0:
        w.violations.append(f"streams count as stalled: {stalled and stalled.group(0)}")


@row(43, "nobody reads the log, and its pipe is full")
def full_pipe(w):
    end, start = os.pipe()
    size = fcntl.fcntl(end, 1031, 16_384)  # F_SETPIPE_SZ: soon full
    # Where it tells of itself stands in the log, so it is not asked whether it is ready. Kafka's client says much.
    w.start(wait=False, level="debug", properties=["debug: protocol,cgrp"], stderr=start)
    w.tell(seconds=4)
    def held(): return int.from_bytes(fcntl.ioctl(end, termios.FIONREAD, bytes(4)), sys.byteorder)
    # Who asks is told that nothing fits in. What is free is at the ends of its four pages, each too short for a line.
    wait_for(lambda: f"the pipe is full: {held()} of {size}", 30, lambda: not select.select([], [start], [], 0)[1] and held() > size / 2)
    w.times += 1
    w.wait_until_seen(200)
    w.healed()
    w.settle()
    w.judge()
    began, full = time.monotonic(), held()
    w.bridge.signal(signal.SIGTERM)
    code = w.bridge.exit(30)
    w.notes.append(f"{full} bytes of {size} in the pipe, exit {code} after {time.monotonic() - began:.1f} s")
    if code != 0:
        raise Failure(f"exit {code}")
    os.close(start)
    os.close(end)
    w.end()
