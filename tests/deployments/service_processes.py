"""A service as a process, and breakable ports to a graph server."""

import asyncio
import contextlib
import os
import socket
import sys
import time

from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.ports import find_free_port

SECONDS = 120
Status = health_pb2.HealthCheckResponse


async def copy_bytes(reader, writer, change):
    """Copy the bytes of one direction until one end closes."""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(change(data))
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def relay_port(port, neo4j, change=bytes):
    """Serve the real server at another port while the body runs.

    Afterwards the port and all its connections break.

    Args:
        change: Maps the bytes of the server's answers to the bytes that are passed on.
    """
    host, _, real = neo4j.settings.uri.removeprefix("bolt://").rpartition(":")
    meetings, writers = set(), []

    async def relay(reader, writer):
        meetings.add(asyncio.current_task())
        writers.append(writer)
        up, down = await asyncio.open_connection(host, int(real))
        writers.append(down)
        await asyncio.gather(copy_bytes(reader, down, bytes), copy_bytes(up, writer, change))

    server = await asyncio.start_server(relay, "127.0.0.1", port)
    try:
        yield
    finally:
        server.close()
        for meeting in meetings:
            meeting.cancel()
        await asyncio.gather(*meetings, return_exceptions=True)
        for writer in writers:
            writer.transport.abort()


class VanishingHost:
    """The real server at another port, on a host that can vanish.

    While the host is gone, no bytes pass between the server and its callers, and no connection is
    closed.
    """

    def __init__(self, neo4j):
        self._real = neo4j.settings.uri.removeprefix("bolt://").rsplit(":", 1)
        self._there = asyncio.Event()
        self._sockets, self._visitors, self._writers = [], [], []
        self.port = find_free_port()

    def come_back(self):
        self._close_sockets()
        door = socket.create_server(("127.0.0.1", self.port))
        self._sockets = [door]
        self._there.set()
        self._accepting = asyncio.create_task(self._accept(door))

    def vanish(self):
        """Drop requests for a connection.

        The port's queue is filled for that: Linux drops requests while too many wait.
        """
        self._there.clear()
        self._accepting.cancel()
        self._sockets[0].listen(0)
        for _ in range(3):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", self.port))
            self._sockets.append(waiting)

    def lose_route(self):
        """Let requests for a connection fail at once."""
        self._there.clear()
        self._accepting.cancel()
        self._close_sockets()

    def _close_sockets(self):
        for one in self._sockets:
            one.close()

    async def _accept(self, door):
        door.setblocking(False)
        while True:
            near, _ = await asyncio.get_running_loop().sock_accept(door)
            self._visitors.append(asyncio.create_task(self._meet(near)))

    async def _meet(self, near):
        reader, writer = await asyncio.open_connection(sock=near)
        up, down = await asyncio.open_connection(*self._real)
        self._writers += [writer, down]
        await asyncio.gather(self._pass_on(reader, down), self._pass_on(up, writer))

    async def _pass_on(self, reader, writer):
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                await self._there.wait()
                writer.write(data)
                await writer.drain()
        await self._there.wait()
        writer.close()

    async def close(self):
        tasks = [self._accepting, *self._visitors]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        self._close_sockets()


@contextlib.asynccontextmanager
async def open_vanishing_host(neo4j):
    host = VanishingHost(neo4j)
    host.come_back()
    try:
        yield host
    finally:
        await host.close()


@contextlib.asynccontextmanager
async def start_service(folder, neo4j_port, password, *more):
    """Run `propagation serve` in a process; yield (process, its port).

    Args:
        more: Further settings, each "KEY=VALUE".
    """
    port = find_free_port()
    environment = {**os.environ, "PROPAGATION_NEO4J__PASSWORD": password}
    settings = (
        "store=neo4j",
        f"neo4j.uri=bolt://127.0.0.1:{neo4j_port}",
        "auto_create=true",
        *more,
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "services.cli.main",
        "serve",
        "--port",
        str(port),
        "--log-format",
        "json",
        *(part for setting in settings for part in ("--set", setting)),
        cwd=folder,
        env={**environment, "PYTHONPATH": os.getcwd()},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process, port
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def read_health(channel):
    return (
        await health_pb2_grpc.HealthStub(channel).Check(
            health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=SECONDS
        )
    ).status


async def measure_seconds_until_health(channel, status):
    """Return the seconds until the service reports a health status."""
    begun = time.monotonic()
    async with asyncio.timeout(SECONDS):
        while await read_health(channel) != status:  # noqa: ASYNC110 - another process goes on
            await asyncio.sleep(0.05)
    return time.monotonic() - begun
