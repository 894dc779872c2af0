"""Faults of the database and of the way to it."""
import http.client, http.server, os, socket, ssl, subprocess, threading, time

from .matrix import row
from .parts import Failure, Skipped, wait_for
from .story import CHUNKS

BRIDGE = "PATCH"


def under(w, seconds, *rules, **limits):
    """Runs the story under faults of the tree, then without."""
    w.start()
    w.tell(seconds=seconds)
    w.wait_until_seen(10)
    w.tree.faults(*rules, seed=w.seed, **limits)
    w.join()
    time.sleep(1)
    met = w.tree.count()
    w.times += met
    w.tree.faults()
    if met == 0:
        raise Failure("no request has met the fault")
    w.healed()
    w.finish()


def hits(w):
    """How often each rule of the tree's faults has met a request."""
    return [rule["hits"] for rule in w.tree._figures()["rules"]]


@row(27, "the database refuses connections")
def refused(w):
    w.start()
    w.tell(seconds=6)
    w.wait_until_seen(20)
    for pause in (1, 3):
        w.proxy.refuse()
        w.times += 1
        time.sleep(pause)
        w.proxy.accept()
        time.sleep(0.5)
    w.healed()
    w.finish()


@row(28, "the database takes connections and never answers, for twice max.poll.interval.ms")
def never_answers(w):
    w.start(properties=["max.poll.interval.ms: 6000"])
    w.tell(seconds=6)
    w.wait_until_seen(20)
    w.proxy.silent = True
    time.sleep(12)
    w.times += 1
    w.proxy.silent = False
    w.healed()
    w.finish(stops=False)
    if w.bridge.says('"revoked"'):
        w.violations.append("waiting for the database has cost it its partitions")
    w.finish()


@row(29, "the connection ends when the write has landed, before its status", quick=True)
def cut_after(w):
    under(w, 6, {"method": BRIDGE, "cut": "after", "chance": 0.3})


@row(52, "the connection is reset within the request's body, and within the answer")
def cut_by_proxy(w):
    w.start()
    w.tell(seconds=8)
    w.wait_until_seen(10)
    for way, limit in (("cut_up_after", 400), ("cut_down_after", 40), ("cut_up_after", 20_000), ("cut_down_after", 0)):
        w.proxy.cuts_left = 6
        setattr(w.proxy, way, limit)
        w.proxy.reset()
        wait_for(lambda: f"{way} {limit}: some are cut, {w.proxy.cuts_left} of 6 are left", 20, lambda: w.proxy.cuts_left < 4)
        time.sleep(1)
        setattr(w.proxy, way, None)
        w.times += 6 - w.proxy.cuts_left
    w.healed()
    w.finish()


@row(30, "one byte a second, an endless body, a head without end")
def slow_answers(w):
    w.start()
    w.tell(seconds=8)
    w.wait_until_seen(10)
    w.tree.faults({"method": "GET", "bytes_per_second": 1}, {"method": BRIDGE, "status": 200, "answer": "x" * 100, "bytes_per_second": 1, "chance": 0.3})
    wait_for(lambda: f"both have met requests: {hits(w)}", 20, lambda: all(hits(w)))
    time.sleep(3)
    w.times += w.tree.count()
    w.tree.faults()
    met = set()

    def endless(head):
        def parts():
            met.add(head)
            w.times += 1
            yield head
            for _ in range(64 * 1024):
                yield b"x" * 4096
        return parts
    for head in (b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Long: ",
                 b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n", b"SSH-2.0-OpenSSH\r\n"):
        w.proxy.instead = endless(head)
        wait_for(lambda: f"a request that is answered with {head}", 20, lambda: head in met)
        time.sleep(1)
    w.proxy.instead = None
    w.proxy.reset()
    w.healed()
    w.settle()
    w.notes.append(f"{w.bridge.rss()} MB at most")
    if w.bridge.rss() > 200:
        w.violations.append("memory")
    w.finish()


@row(31, "500, 502, 503 with Retry-After, 429, at random", quick=True)
def unavailable(w):
    under(w, 8, *({"status": status, "headers": {"Retry-After": "1"} if status in (503, 429) else {}, "chance": 0.12}
                  for status in (500, 502, 503, 429, 408, 425)))


@row(53, "an outage that answers 503 to everything, the start of a bridge included")
def outage(w):
    w.tree.faults({"status": 503})
    w.start(wait=False)
    w.tell(seconds=3)
    reason = "reading the tree fails: HTTP 503"
    wait_for(lambda: f"{reason}: {w.bridge.reasons()} {w.bridge.tail()}", 30, lambda: w.bridge.unready(reason))
    time.sleep(4)
    if not w.bridge.unready(reason):
        w.violations.append(f"not ready for {w.bridge.reasons()}, where {reason} was expected")
    w.times += w.tree.count()
    w.tree.faults()
    w.healed()
    w.finish()


@row(32, "400, 404 and 413 for one record alone")
def one_refused(w):
    w.start()
    w.tell(seconds=4)
    w.checks_prefix = False
    w.tree.faults(*({"method": BRIDGE, "body": f"poison {status}", "status": status, "answer": {"error": "no"}} for status in (400, 404, 413)))
    for status in (400, 404, 413):
        w.log.produce({"topic": CHUNKS, "partition": 1, "key": "p", "poison": True, "value": {
            "conversation_id": f"p{status}", "message_sequence": 1, "run_id": "r", "content": f"poison {status}", "timestamp": "2026-11-01T00:00:00Z"}})
    place = f"{CHUNKS}/1"
    w.flush()
    wait_for("it is rejected", 60, lambda: w.committed.get(place, 0) >= w.story.placed[(CHUNKS, 1)] + 3)
    w.times += w.tree.count()
    w.tree.faults()
    w.healed()
    letters = w.asker.ask("positions other firebridge.dead-letters")["firebridge.dead-letters/0"]["high"]
    w.notes.append(f"{letters} dead letters")
    if letters != 3:
        w.violations.append(f"{letters} dead letters for three refused records")
    w.finish()


@row(54, "403 to everything: the database is wrong, no record is")
def all_refused(w):
    w.start()
    w.tell(seconds=4)
    w.wait_until_seen(10)
    w.tree.faults({"method": BRIDGE, "status": 403, "answer": {"error": "Permission denied"}})
    w.join()
    reason = "database_refuses_everything: "
    wait_for(lambda: f"{reason}: {w.bridge.reasons()} {w.bridge.tail()}", 30, lambda: w.bridge.unready(reason))
    time.sleep(3)
    w.times += w.tree.count()
    w.tree.faults()
    w.healed()
    w.settle()
    letters = w.asker.ask("positions other firebridge.dead-letters")["firebridge.dead-letters/0"]["high"]
    if letters:
        w.violations.append(f"{letters} dead letters")
    w.finish()


@row(33, "401: the token has expired; a new one comes by its file")
def expired(w):
    token = w.directory / "token"
    token.write_text("old")
    token.chmod(0o600)
    gate = Gate(w.tree.port)
    w.start(credentials="access_token", credentials_file=str(token), url=f"http://127.0.0.1:{gate.server_port}/?ns=chaos")
    w.tell(seconds=8)
    w.wait_until_seen(10)
    gate.expired.add("Bearer old")
    reason = "Auth token is expired"
    wait_for(lambda: f"{reason}: {w.bridge.reasons()} {w.bridge.tail()}", 30, lambda: w.bridge.unready(reason))
    time.sleep(2)
    w.times += gate.refused
    if gate.refused > 60:
        w.violations.append(f"a tight loop: {gate.refused} requests")
    # The old one is never taken again: what follows is the new one's.
    w.join()
    token.write_text("new")
    w.healed()
    w.finish()
    if gate.passed != ["Bearer old", "Bearer new"]:
        w.violations.append(f"with these it was written: {gate.passed}")


class Gate(http.server.ThreadingHTTPServer):
    """Stands before the tree and lets no token pass that has expired."""
    daemon_threads = True

    def __init__(self, target):
        self.target, self.expired, self.refused, self.passed = target, set(), 0, []
        super().__init__(("127.0.0.1", 0), GateRequest)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class GateRequest(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def pass_on(self):
        body, token = self.rfile.read(int(self.headers.get("Content-Length", 0))), self.headers.get("Authorization")
        if token in self.server.expired:
            self.server.refused += 1
            return self.give(401, b'{"error": "Auth token is expired"}')
        if token not in self.server.passed:
            self.server.passed.append(token)
        tree = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=30)
        tree.request(self.command, self.path, body or None, {"User-Agent": self.headers["User-Agent"]})
        answer = tree.getresponse()
        self.give(answer.status, answer.read())
        tree.close()

    def give(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PATCH = pass_on

    def log_message(self, *_): pass


@row(34, "a write lands late, when it has been given up and sent again")
def lands_late(w):
    # There is no conditional write that could answer 412: the fence refuses what has been overtaken.
    under(w, 10, {"method": BRIDGE, "delay_ms": 3000, "chance": 0.15})


@row(36, "302 and 307 to another host")
def redirected(w):
    seen = []

    class Thief(http.server.BaseHTTPRequestHandler):
        def handle_one_request(self):
            seen.append(self.rfile.readline())
            self.close_connection = True
        def log_message(self, *_): pass

    thief = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Thief)
    threading.Thread(target=thief.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{thief.server_port}/"
    under(w, 6, *({"status": status, "headers": {"Location": place}, "chance": 0.3} for status in (302, 307, 308)))
    thief.shutdown()
    if seen:
        w.violations.append(f"it was followed: {seen[:2]}")


@row(37, "certificates: self-signed, of another host, expired")
def certificates(w):
    good = certificate(w, "good", "IP:127.0.0.1")
    # Each differs from the good one in one thing, which is what must be told of it.
    bad = (("self", "signed certificate", certificate(w, "self", "IP:127.0.0.1")),
           ("host", "no alternative certificate subject name matches", certificate(w, "host", "DNS:other.example")),
           ("old", "certificate has expired", certificate(w, "old", "IP:127.0.0.1", days=-1)))
    w.tell(seconds=2)
    for name, words, (cert, key) in bad:
        port = tls_proxy(w.tree.port, cert, key)
        ca = good[0] if name == "self" else cert
        bridge = w.start("tls" + name, wait=False, url=f"https://127.0.0.1:{port}/?ns=chaos", ca_file=str(ca))
        # It does not ask before it has partitions, and the one before it has not left the group.
        wait_for(lambda: f"{name}: {words}: {bridge.reasons()} {bridge.tail()}", 60, lambda: bridge.unready(words) and any(
            '"request_failed"' in line and words in line for line in bridge.lines()))
        w.times += 1
        bridge.kill()
    if w.tree.read("_firebridge"):
        w.violations.append("something was written")
    w.start("good", url=f"https://127.0.0.1:{tls_proxy(w.tree.port, *good)}/?ns=chaos", ca_file=str(good[0]))
    w.healed()
    w.finish()


def certificate(w, name, alternative, days=30):
    key, cert = w.directory / f"{name}.key", w.directory / f"{name}.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-subj", f"/CN={name}",
             "-addext", f"subjectAltName={alternative}", "-days", max(days, 1)]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
    if days < 0:
        request, extensions = w.directory / f"{name}.csr", w.directory / f"{name}.cnf"
        extensions.write_text(f"subjectAltName={alternative}\nbasicConstraints=critical,CA:TRUE\n")
        for words in (["openssl", "req", "-new", "-key", key, "-out", request, "-subj", f"/CN={name}"],
                      ["openssl", "x509", "-req", "-in", request, "-signkey", key, "-out", cert, "-days", "-1", "-extfile", extensions]):
            done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
            if done.returncode != 0:
                raise Skipped(f"openssl makes no expired certificate: {done.stderr[-100:]}")
    return cert, key


def tls_proxy(target, cert, key, host="127.0.0.1", port=0):
    """Ends TLS in front of the tree."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    listener = socket.create_server((host, port))

    def passing(source, sink):
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def serve():
        while True:
            plain, _ = listener.accept()
            def one(plain=plain):
                try:
                    plain = context.wrap_socket(plain, server_side=True)
                    up = socket.create_connection(("127.0.0.1", target))
                except OSError:
                    return plain.close()
                threading.Thread(target=passing, args=(plain, up), daemon=True).start()
                passing(up, plain)
            threading.Thread(target=one, daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


@row(38, "the database's name is not known, then it is, then it has another address")
def name_unknown(w):
    hosts = w.directory / "hosts"
    hosts.write_text("127.0.0.1 localhost\n")
    wrap = ["unshare", "-rm", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh"]
    if subprocess.run([*wrap, "true"], capture_output=True).returncode != 0:
        raise Skipped("no namespaces of our own are allowed here")
    cert, key = certificate(w, "name", "DNS:tree.example")
    # What the name stands for first is a way to the tree that can be taken down.
    port = tls_proxy(w.proxy.port, cert, key)
    w.start(wait=False, wrap=wrap, url=f"https://tree.example:{port}/?ns=chaos", ca_file=str(cert))
    w.tell(seconds=3, part=0.5)
    wait_for(lambda: f"a word of it: {w.bridge.reasons()} {w.bridge.tail()}", 60,
             lambda: w.bridge.says('"request_failed"') > 0 and w.bridge.unready("reading the tree fails: DNS: "))
    w.notes.append(next(line for line in w.bridge.lines() if '"request_failed"' in line).split('"reason":"')[1].split('"')[0][:70])
    w.times += 1
    hosts.write_text("127.0.0.1 localhost tree.example\n")
    w.healed()
    w.settle()
    w.tell(seconds=3, part=0.5)
    w.wait_until_seen(10)
    # It has just asked for the address, and remembers it for a while.
    w.proxy.reset()
    w.wait_until_seen(5)
    tls_proxy(w.tree.port, cert, key, host="127.0.0.2", port=port)
    hosts.write_text("127.0.0.1 localhost\n127.0.0.2 tree.example\n")
    before = w.bridge.metric("retries_total")
    w.proxy.refuse()
    w.tell(seconds=2)
    wait_for(lambda: f"the old address fails: {w.bridge.tail()}", 20, lambda: w.bridge.metric("retries_total") > before)
    w.times += 1
    # The old address goes on to take connections and to end them: only the new one leads to the tree.
    w.join()
    w.healed()
    w.finish(recovers=25)


@row(39, "1 Mbit/s with 100 ms each way, then pieces of one byte")
def thin(w):
    w.start()
    w.tell(seconds=10)
    w.wait_until_seen(10)
    w.proxy.delay, w.proxy.rate = 0.1, 125_000
    time.sleep(5)
    w.proxy.delay, w.proxy.rate, w.proxy.slice = 0, None, 1
    time.sleep(3)
    w.proxy.slice = None
    w.times = w.proxy.count
    w.healed()
    w.finish()


@row(40, "the network is gone and comes back: broker and database silent at once")
def network_gone(w):
    w.start()
    w.tell(seconds=3, part=0.5)
    w.wait_until_seen(20)
    w.flush()
    w.proxy.silent = True
    w.broker.freeze()
    w.tell(seconds=2, part=0.6)  # what waits for both
    time.sleep(9)
    w.join()
    w.broker.thaw()
    w.proxy.silent = False
    w.times += 1
    w.healed()
    w.tell(seconds=2)
    w.finish(recovers=30)


@row(55, "reads fail while a bridge begins: 503, cut, late")
def start_without_reads(w):
    w.tree.faults({"method": "GET", "status": 503, "chance": 0.4}, {"method": "GET", "cut": "inside", "chance": 0.4},
                  {"method": "GET", "delay_ms": 800, "chance": 0.5}, seed=w.seed)
    w.start(wait=False)
    w.tell(seconds=4)
    wait_for("some reads that failed", 40, lambda: w.tree.count() >= 8)
    w.times += w.tree.count()
    w.tree.faults()
    w.healed()
    w.finish()


@row(56, "a thousand writes a second and 64 MB a minute: the hosted limits, made fifty times smaller", conversations=300)
def quota(w):
    w.start()
    w.tree.faults(writes_per_second=20, write_bytes_per_minute=1_300_000)
    w.tell(seconds=8)
    w.join()
    w.settle()
    # Each lane waits its turn of a twentieth of a second; when the minute's bytes are used up, for far longer.
    w.times += slower(w, "0.1")
    if w.times < 50 or slower(w, "1") < 5:
        w.violations.append(f"{w.times} requests have waited, {slower(w, '1')} of them for more than a second")
    w.tree.faults()
    w.healed()  # what it took under the limits is no recovery
    w.finish()


def slower(w, seconds):
    """How many requests took longer than this."""
    page = wait_for("its figures", 10, lambda: w.bridge.page("/metrics"))[1]
    figures = dict(line.rsplit(" ", 1) for line in page.splitlines() if line.startswith("firebridge_request_seconds_"))
    return int(figures["firebridge_request_seconds_count"]) - int(figures['firebridge_request_seconds_bucket{le="%s"}' % seconds])


@row(57, "a batch is too big for one request")
def too_big(w):
    w.start()
    w.tree.faults({"method": BRIDGE, "larger_than": 2500, "status": 400, "answer": {
        "error": "Data to write exceeds the maximum size that can be modified with a single request."}})
    w.tell(seconds=0.5)
    w.join()
    wait_for("a batch is too big", 20, lambda: w.tree.count() > 0)
    w.settle()
    w.times += w.tree.count()
    w.tree.faults()
    w.finish()


@row(58, "an answer that is no database's: HTML with 200, an empty 200, 204 to a read")
def strange_answers(w):
    under(w, 6, {"method": "GET", "status": 200, "answer": "<html>sign in</html>", "chance": 0.4},
          {"method": "GET", "status": 200, "answer": "", "chance": 0.4}, {"method": BRIDGE, "status": 500, "answer": "<html>", "apply": True, "chance": 0.3})


@row(59, "the tree's process stops and goes on")
def tree_frozen(w):
    import signal
    w.start()
    w.tell(seconds=8)
    w.wait_until_seen(20)
    w.tree.child.send_signal(signal.SIGSTOP)
    time.sleep(5)
    w.tree.child.send_signal(signal.SIGCONT)
    w.times += 1
    w.healed()
    w.finish()


@row(62, "larger batches never get an answer, though some land: a link too slow for them")
def too_slow(w):
    w.start()
    w.tree.faults({"method": BRIDGE, "larger_than": 2500, "cut": "after", "chance": 0.3},
                  {"method": BRIDGE, "larger_than": 2500, "cut": "before"}, seed=w.seed)
    w.tell(seconds=0.5)
    w.join()
    w.settle()
    w.times += w.tree.count()
    w.tree.faults()
    w.finish()
    if not any("batch_split" in line for line in w.bridge.lines()):
        w.violations.append("no batch was split")
