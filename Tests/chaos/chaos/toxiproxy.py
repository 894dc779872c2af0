"""The proxy of `../shared/tools`: many times as fast as ours, with the faults that a soak needs."""
import json, socket, subprocess, time

from .parts import SHARED, Failure, fetch, spawn, wait_for

SERVER = SHARED / "tools" / "toxiproxy-server"


class Toxiproxy:
    """Each way of a connection passes through the toxics that are set while it is open."""

    def __init__(self, target):
        api, self.port = free_port(), free_port()
        self.api = f"http://127.0.0.1:{api}/proxies"
        self.child = spawn([SERVER, "-host", "127.0.0.1", "-port", api], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("toxiproxy", 10, self._answers)
        self._ask("", name="tree", listen=f"127.0.0.1:{self.port}", upstream=f"127.0.0.1:{target}")

    def _answers(self):
        try:
            return fetch(self.api)[0] == 200
        except OSError:
            return False

    def _ask(self, path, method="POST", **body):
        try:
            status, answer = fetch(self.api + path, method, json.dumps(body).encode())
        except OSError as error:
            raise Failure(f"toxiproxy: {error}")
        if status >= 300:
            raise Failure(f"toxiproxy: {status} {answer[:200]}")

    def _set(self, kind, on, **attributes):
        """One toxic each way, or none."""
        for stream in ("upstream", "downstream"):
            name = f"{kind}-{stream}"
            if on:
                self._ask("/tree/toxics", name=name, type=kind, stream=stream, attributes=attributes)
            else:
                self._ask(f"/tree/toxics/{name}", "DELETE")

    def refuse(self): self._ask("/tree", enabled=False)
    def accept(self): self._ask("/tree", enabled=True)

    def reset(self):
        """Ends every connection over which bytes come within this time."""
        self._set("reset_peer", True, timeout=0)
        time.sleep(0.1)
        self._set("reset_peer", False)

    def _hold(self, seconds):
        # What is on its way when a latency ends goes on at once.
        self._set("latency", seconds > 0, latency=int(seconds * 1000))

    # Written only, as the attributes of our own proxy are; one of them at a time.
    silent = property(fset=lambda self, on: self._hold(3600 if on else 0))
    delay = property(fset=_hold)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
