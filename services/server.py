"""The service from start to graceful stop."""

import asyncio
import contextlib
import ipaddress
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

import grpc
import structlog

from propagation.ports.clock import Clock
from propagation.workflow.engine import Engine
from services.assembly import laptop_engine
from services.clock import SystemClock
from services.collector import rare_collections
from services.courtesy import Courtesy
from services.errors import NotLoopback, PortTaken
from services.grpc.roles import CallerOf, anybody
from services.grpc.service import Health, PropagationService, new_server
from services.settings import ServerSettings, Settings
from services.telemetry import configure_logging
from services.worker import Worker

SWITCH_SECONDS = 0.0005
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
log = structlog.get_logger()


@dataclass(frozen=True)
class Running:
    """A service that is ready: where it listens, and what it runs on."""

    address: str
    engine: Engine
    worker: Worker
    server: grpc.aio.Server
    service: PropagationService
    health: Health

    async def stop(self, grace_seconds: float | None) -> None:
        """No new calls; streams deliver their acks and end; running calls have `grace_seconds` (None: no time)."""
        await self.health.stopping()
        self.service.stopping.set()
        await self.server.stop(grace_seconds)


async def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; a second one does not wait for running calls. `announce` is told HOST:PORT when the
    service is ready.

    Raises NotLoopback, PortTaken, and whatever the store refuses to open with (StoreBusy, StoreCorrupt, SchemaTooNew)."""
    configure_logging(settings.server.log_format)
    with _stop_signals() as (first, second):
        async with running(settings) as service:
            announce(service.address)
            await first.wait()
            log.info("stopping", grace_seconds=settings.server.grace_seconds)
            hurry = asyncio.create_task(_hurry(service, second))
        hurry.cancel()


async def _hurry(service: Running, second: asyncio.Event) -> None:
    await second.wait()
    await service.stop(None)


@contextlib.asynccontextmanager
async def running(settings: Settings, callers: CallerOf = anybody, clock: Clock | None = None) -> AsyncIterator[Running]:
    """A service that is ready; stopped gracefully at the end: health says so, streams deliver their acks
    and end, calls finish within the grace, the numbers are checkpointed, the store is closed. `clock`: the system's."""
    refuse_open_address(settings.server)
    sys.setswitchinterval(SWITCH_SECONDS)  # the numbers' thread answers reads between the steps of reasoning
    rare_collections()
    courtesy, clock = Courtesy(), clock or SystemClock()
    engine = laptop_engine(settings, courtesy.give_way, clock)
    await engine.open()
    try:
        worker = Worker(engine, courtesy, settings.schedule, clock)
        servicer = PropagationService(engine, worker)
        server = new_server(servicer, courtesy, worker.timings, settings.server.max_message_bytes, callers)
        health = Health(server)
        address = bind(server, settings.server)
        service = Running(address, engine, worker, server, servicer, health)
        await server.start()
        worker.start()
        try:
            await health.serving()
            log.info("ready", address=address, database=str(settings.database))
            yield service
        finally:
            await service.stop(settings.server.grace_seconds)
            await worker.stop()
    finally:
        await engine.close()
    log.info("stopped")


def refuse_open_address(server: ServerSettings) -> None:
    """Raises NotLoopback unless the host is this machine's own, or --insecure was said."""
    if not server.insecure and not is_loopback(server.host):
        raise NotLoopback(server.host)


def is_loopback(host: str) -> bool:
    """Names other than localhost are not resolved: they may mean another machine tomorrow."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def bind(server: grpc.aio.Server, settings: ServerSettings) -> str:
    """Take the port (0: a free one); the address. Raises PortTaken."""
    host = f"[{settings.host}]" if ":" in settings.host.strip("[]") else settings.host
    refuse_taken_port(settings.host.strip("[]"), settings.port)
    try:
        port = server.add_insecure_port(f"{host}:{settings.port}")
    except RuntimeError as error:
        raise PortTaken(f"{host}:{settings.port}") from error
    return f"{host}:{port}"


def refuse_taken_port(host: str, port: int) -> None:
    """A name may mean several addresses, of which one that is free is enough. grpc would find out too, and write lines of its
    own on standard error that nothing can hold back. Raises PortTaken."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise PortTaken(f"{host}:{port}") from error
    if not any(_is_free(*place) for place in places):
        raise PortTaken(f"{host}:{port}")


def _is_free(family: int, kind: int, protocol: int, _: str, address: tuple[object, ...]) -> bool:
    try:
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _stop_signals() -> Iterator[tuple[asyncio.Event, asyncio.Event]]:
    """Set at the first SIGTERM or SIGINT, and at the second."""
    first, second = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, lambda: (second if first.is_set() else first).set())
    try:
        yield first, second
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
