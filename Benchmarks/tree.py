"""The tree beside nginx, which serves a fixed answer: what the HTTP layer could do at most here."""
import json, os, shutil, signal, socket, subprocess, tempfile, time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASE = ROOT / ".build" / "release"
BENCH, FIREBRIDGE = RELEASE / "bench", RELEASE / "firebridge"
LEAVES_OF_PATCH = 500


class Failure(Exception):
    pass


def ask(*words):
    done = subprocess.run([BENCH, *map(str, words)], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failure(f"bench {words[0]} ended with {done.returncode}")
    return json.loads(done.stdout)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def first_answer(port, process, request, since):
    """Milliseconds from `since` until the server answers."""
    while process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
                s.sendall(request)
                if s.recv(100):
                    return (time.monotonic() - since) * 1000
        except ConnectionRefusedError:
            time.sleep(0.0005)
    raise Failure(f"{process.args[0]} ended with {process.returncode}")


class Server:
    def __init__(self, words, port, request=b"GET /x.json?ns=demo HTTP/1.1\r\nHost: a\r\n\r\n"):
        since = time.monotonic()
        self.port = port
        self.process = subprocess.Popen(list(map(str, words)), stderr=subprocess.DEVNULL)
        self.start_ms = first_answer(port, self.process, request, since)

    def resident(self):
        return resident(self.process.pid)

    def cpu(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, kind, requests, connections=1):
        before = self.cpu()
        result = ask("load", "--port", self.port, "--kind", kind, "--requests", requests, "--connections", connections)
        result["rate"] = requests / result["seconds"]
        result["server_cpu_us"] = (self.cpu() - before) * 1e6 / requests
        return result

    def end(self, with_signal=signal.SIGKILL):
        self.process.send_signal(with_signal)
        self.process.wait(60)


def resident(pid):
    status = dict(l.split(":", 1) for l in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) * 1024


@contextmanager
def tree(*flags):
    port = free_port()
    server = Server([FIREBRIDGE, "tree", "--listen", f"127.0.0.1:{port}", *flags], port)
    try:
        yield server
    finally:
        server.end()


@contextmanager
def nginx(directory):
    """nginx with one worker, answering 204; nil where it cannot be had."""
    if not shutil.which("nginx"):
        subprocess.run([ROOT / "deploy" / "dependencies", "nginx-light"], stderr=subprocess.DEVNULL)
    program = shutil.which("nginx")
    if not program:
        yield None
        return
    port = free_port()
    configuration = directory / "nginx.conf"
    configuration.write_text(f"""
daemon off; master_process off; worker_processes 1; pid {directory}/nginx.pid; error_log {directory}/nginx.log;
events {{ worker_connections 1000; }}
http {{ access_log off; keepalive_requests 100000000;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
  server {{ listen 127.0.0.1:{port}; location / {{ return 204; }} }} }}
""")
    server = Server([program, "-c", configuration, "-e", directory / "nginx.log"], port)
    try:
        yield server
    finally:
        server.end()


def verdict(met, text):
    print(f"goal {'met' if met else 'NOT met'}: {text}")


def instructions():
    if not shutil.which("valgrind"):
        return print("tree alone: instructions not counted, as valgrind is not installed")
    with tempfile.TemporaryDirectory() as directory:
        # Valgrind stumbles over Swift's debug information.
        program, leaves = Path(directory) / "bench", 20_000
        subprocess.run(["strip", "--strip-debug", BENCH, "-o", program], check=True)
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", "--collect-atstart=no",
             "--toggle-collect=*TreeBenchmark*feed*", program, "tree", "--leaves", str(leaves)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        collected = [l.split(":")[1] for l in done.stderr.splitlines() if "Collected" in l]
        if done.returncode != 0 or not collected:
            raise Failure(f"callgrind ended with {done.returncode}: {done.stderr[-300:]}")
        print(f"tree alone: {int(collected[0]) / leaves:,.0f} instructions a leaf of four values", flush=True)


def run(repeat):
    alone = min(ask("tree", "--leaves", 300_000)["ns_per_leaf"] for _ in range(repeat))
    print(f"tree alone: {alone:,.0f} ns of CPU a leaf of four values, by PATCHes of {LEAVES_OF_PATCH}")
    instructions()
    with tempfile.TemporaryDirectory() as name, nginx(Path(name)) as limit:
        directory = Path(name)
        if not limit:
            print("nginx: skipped, as it cannot be installed here")
        small = []
        for turn in range(repeat):
            with tree() as server:
                fixed = limit.load("fixed", 40_000, 4) if limit else None
                puts = server.load("put", 40_000, 4)
                small.append((puts, fixed))
                print(f"  turn {turn + 1}: " + (f"nginx {fixed['rate']:,.0f} fixed answers/s "
                      f"({fixed['server_cpu_us']:.1f} µs of CPU each), " if fixed else "") +
                      f"tree {puts['rate']:,.0f} small PUTs/s ({puts['server_cpu_us']:.1f} µs), 4 connections "
                      f"(load {os.getloadavg()[0]:.1f})", flush=True)
        best, fixed = max(small, key=lambda pair: pair[0]["rate"] / (pair[1]["rate"] if pair[1] else 1))
        if fixed:
            ratio = best["rate"] / fixed["rate"]
            verdict(ratio >= 0.5, f"single small PUTs: {ratio:.2f} of nginx, at least 0.5 wanted")

        rates, costs, starts = [], [], []
        for turn in range(repeat):
            with tree() as server:
                before, patches = server.resident(), 500
                result = server.load("patch", patches)
                leaves = patches * LEAVES_OF_PATCH
                rates.append(leaves / result["seconds"])
                costs.append((server.resident() - before) / leaves)
                starts.append(server.start_ms)
                print(f"  turn {turn + 1}: {rates[-1]:,.0f} leaves/s, {result['server_cpu_us'] / LEAVES_OF_PATCH:.2f} µs "
                      f"of CPU and {costs[-1]:.0f} bytes a leaf, first answer after {starts[-1]:.0f} ms", flush=True)
        verdict(max(rates) >= 300_000, f"PATCHes of {LEAVES_OF_PATCH} leaves: {max(rates):,.0f} leaves/s, at least 300,000 wanted")
        verdict(min(costs) < 200, f"memory: {min(costs):.0f} bytes a leaf of four values, less than 200 wanted")
        verdict(min(starts) < 50, f"start-up to the first answer: {min(starts):.0f} ms, less than 50 wanted")

        with tree() as server:
            told = ask("fan-out", "--port", server.port, "--streams", 1000, "--rounds", 50)
        print(f"one write to 1,000 event streams: {told['p50_ms']:.1f} ms median, {told['p99_ms']:.1f} ms p99, "
              f"{told['max_ms']:.1f} ms at most")
        verdict(told["p99_ms"] < 50, f"fan-out: p99 {told['p99_ms']:.1f} ms, less than 50 wanted")

        for policy in ["always", "interval", "never"]:
            with tree("--data", directory / policy, "--fsync", policy) as server:
                one, many = server.load("put", 2000, 1), server.load("put", 20_000, 64)
                print(f"durable small PUTs, --fsync {policy}: {one['rate']:,.0f}/s by 1 connection, {many['rate']:,.0f}/s by 64 "
                      f"(p99 {many['p99_ms']:.1f} ms)", flush=True)
                if policy == "always":
                    patches = server.load("patch", 2000)
                    print(f"durable PATCHes of {LEAVES_OF_PATCH}: {2000 * LEAVES_OF_PATCH / patches['seconds']:,.0f} leaves/s, "
                          "snapshots included", flush=True)
        port = free_port()
        server = Server([FIREBRIDGE, "tree", "--listen", f"127.0.0.1:{port}", "--data", directory / "always"], port)
        print(f"start-up with a million leaves of four values on disk, after a kill: {server.start_ms:.0f} ms, "
              f"{server.cpu():.2f} s of CPU")
        server.end()
