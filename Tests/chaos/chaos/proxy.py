"""A TCP proxy between bridge and tree whose faults are set while it runs."""
import asyncio, socket, struct, threading


class Proxy:
    """Attributes are read for each piece that passes; `down` is towards the bridge."""

    def __init__(self, target):
        self.target = target
        self.silent = False      # takes connections and bytes, passes nothing
        self.delay = 0.0         # seconds before each piece, each way
        self.rate = None         # bytes a second, each way
        self.slice = None        # bytes a piece
        self.cut_down_after = None  # bytes towards the bridge, then the connection is reset
        self.cut_up_after = None    # bytes towards the tree, likewise
        self.cuts_left = 0
        self.instead = None      # bytes that are answered instead of the tree's
        self.count = 0           # how often a fault was done
        self.writers = set()
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self._run, args=(started,), daemon=True).start()
        started.wait()

    def _run(self, started):
        asyncio.set_event_loop(self.loop)
        async def begin():
            self.server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
            self.port = self.server.sockets[0].getsockname()[1]
            started.set()
        self.loop.run_until_complete(begin())
        self.loop.run_forever()

    def _call(self, coroutine): asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

    def refuse(self):
        """Takes no more connections, and ends those that are open."""
        async def end():
            self.server.close()
            self._abort_all()
        self._call(end())
        self.count += 1

    def accept(self):
        async def begin():
            self.server = await asyncio.start_server(self._connection, "127.0.0.1", self.port)
        self._call(begin())

    def reset(self):
        """Ends every connection with RST."""
        async def end(): self._abort_all()
        self._call(end())

    def _abort_all(self):
        for writer in list(self.writers):
            self._abort(writer)

    def _abort(self, writer):
        self.count += 1
        sock = writer.get_extra_info("socket")
        if sock is not None and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async def _connection(self, reader, writer):
        self.writers.add(writer)
        up = None
        try:
            up_reader, up = await asyncio.open_connection("127.0.0.1", self.target)
            self.writers.add(up)
            await asyncio.gather(self._pass(reader, up, writer, "up"), self._pass(up_reader, writer, up, "down"))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for one in (writer, up):
                if one is not None:
                    self.writers.discard(one)
                    one.close()

    async def _pass(self, reader, writer, other, way):
        passed = 0
        while True:
            piece = await reader.read(65536)
            if not piece:
                writer.close()
                return
            while self.silent:
                self.count += 1
                await asyncio.sleep(0.1)
            if way == "up" and self.instead is not None:
                self.count += 1
                for part in self.instead():
                    other.write(part)
                    await other.drain()
                    await asyncio.sleep(0)
                self._abort(other)
                self._abort(writer)
                return
            limit = self.cut_down_after if way == "down" else self.cut_up_after
            if limit is not None and self.cuts_left > 0 and passed + len(piece) > limit:
                self.cuts_left -= 1
                writer.write(piece[:max(0, limit - passed)])
                await writer.drain()
                self._abort(writer)
                self._abort(other)
                return
            passed += len(piece)
            size = self.slice or (max(1, int(self.rate / 20)) if self.rate else len(piece))
            for start in range(0, len(piece), size):
                part = piece[start:start + size]
                if self.delay or self.rate:
                    self.count += 1
                    await asyncio.sleep(self.delay + (len(part) / self.rate if self.rate else 0))
                writer.write(part)
                await writer.drain()
                if self.slice:
                    self.count += 1
