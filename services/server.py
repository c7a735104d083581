"""The service from start to graceful stop."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import grpc
import structlog

from propagation.ports.clock import Clock
from propagation.workflow.engine import Engine
from services.assembly import build_engine
from services.config.path_redaction import path_redaction_for
from services.config.settings import ServerSettings, Settings
from services.grpc.service import Health, PropagationService, new_server
from services.monitoring.setup import monitoring_of
from services.runtime.kernel_cache import kernels_are_kept
from services.runtime.kernel_process import compiled
from services.runtime.logging_setup import configure_logging
from services.runtime.process import SystemClock, collect_garbage_rarely, process_name
from services.runtime.readiness import Readiness, StartCancelled
from services.security.address import bind, refuse_open_address, refuse_taken_port
from services.security.admission import Admission
from services.security.rate_limits import RateLimits
from services.security.reloaded_file import ReloadedFiles
from services.security.tokens import read_tokens
from services.worker.call_priority import CallPriority
from services.worker.query_warm_up import Preparing
from services.worker.worker import Worker

SWITCH_SECONDS = 0.0005
LONG_SECONDS = 10.0
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
    admission: Admission
    metrics: str | None = None

    async def stop(self, grace_seconds: float | None) -> None:
        """No new calls; streams deliver their acks and end; running calls, and models, have
        `grace_seconds` (None: no time)."""
        self.engine.stop_within(grace_seconds or 0)
        await self.health.stopping()
        self.service.stopping.set()
        await self.server.stop(grace_seconds)


async def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; a second one does not wait for running calls. `announce` is
    told HOST:PORT when the service is ready. A graph's server or an embedder that does not answer
    is waited for.

    Raises NotLoopback, PortTaken, BrokenTokens, BrokenTls, and whatever the store refuses to open
    with (StoreBusy, StoreCorrupt, SchemaTooNew, StoreRefused, StoreUnsupported)."""
    configure_logging(settings.server.log_format)
    with _stop_signals() as (first, second), contextlib.suppress(StartCancelled):
        async with running(settings, stopping=first) as service:
            announce(service.address)
            asyncio.get_running_loop().add_signal_handler(
                signal.SIGHUP, service.admission.reload_tokens
            )
            await first.wait()
            log.info("stopping", grace_seconds=settings.server.grace_seconds)
            hurry = asyncio.create_task(_hurry(service, second))
        hurry.cancel()


async def _hurry(service: Running, second: asyncio.Event) -> None:
    await second.wait()
    await service.stop(None)


@contextlib.asynccontextmanager
async def running(
    settings: Settings, clock: Clock | None = None, stopping: asyncio.Event | None = None
) -> AsyncIterator[Running]:
    """A service that is ready; stopped gracefully at the end: health says so, streams deliver their
    acks and end, calls finish within the grace, the numbers are checkpointed, the store is closed.
    `clock`: the system's. Its port answers from the start (see readiness.py). Raises StartCancelled where
    `stopping` is set before it is ready."""
    refuse_open_address(settings.server)
    if settings.monitoring.port is not None:
        refuse_open_address(settings.server, settings.monitoring.host)
        refuse_taken_port(settings.monitoring.host.strip("[]"), settings.monitoring.port)
    monitoring = monitoring_of(settings.monitoring, process_name())
    admission = admission_from_settings(settings.server)
    sys.setswitchinterval(
        SWITCH_SECONDS
    )  # the numbers' thread answers reads between the steps of reasoning
    collect_garbage_rarely()
    priority, clock = CallPriority(), clock or SystemClock()
    engine = build_engine(settings, priority.yield_to_calls, clock, monitoring.around)
    worker = Worker(engine, priority, settings.schedule, clock)
    redaction = path_redaction_for(settings)
    servicer, readiness = PropagationService(engine, worker, redaction), Readiness(stopping)
    server = new_server(
        servicer,
        priority,
        worker.timings,
        admission,
        readiness,
        settings.server.max_message_bytes,
        redaction,
        monitoring.interceptors(),
    )
    health = Health(server)
    address = bind(server, settings.server)
    service = Running(address, engine, worker, server, servicer, health, admission)
    await health.not_serving()
    await server.start()
    if settings.store == "sqlite" and not _holds_something(settings.database):
        log.info("there is no graph yet: making one", database=str(settings.database))
    told = asyncio.get_running_loop().call_later(LONG_SECONDS, _say_that_it_takes_long)
    try:
        if not kernels_are_kept():
            log.info(
                "compiling kernels, once: over a minute on two idle cores, more on a busy machine"
            )
            await compiled(stopping or asyncio.Event())
        await engine.open(reach=readiness.reach)
        await health.serving()  # from here on the worker says whether the store is there
    except BaseException:
        await service.stop(None)
        await engine.close()
        raise
    finally:
        told.cancel()
    preparing = Preparing(engine.store.prepare)

    async def store_there(there: bool) -> None:
        await health.store_there(there)
        if there:
            preparing.begin()

    try:
        worker.start(store_there)
        preparing.begin()
        readiness.declare()
        try:
            async with monitoring.shown(engine, worker, settings.server, admission) as metrics:
                log.info("ready", address=address, graph=settings.graph, metrics=metrics)
                yield replace(service, metrics=metrics)
        finally:
            await service.stop(settings.server.grace_seconds)
            await worker.stop()
            await preparing.stop()
    finally:
        await engine.close()
    log.info("stopped")


def _say_that_it_takes_long() -> None:
    log.info(
        "still opening: kernels that are not kept for this copy of the library are compiled, then the graph is read"
    )


def _holds_something(database: Path) -> bool:
    """An empty file is a new one: the first start may have ended there."""
    return database.exists() and database.stat().st_size > 0


def admission_from_settings(settings: ServerSettings) -> Admission:
    """Who may come in. Raises BrokenTokens."""
    path = settings.tokens
    return Admission(
        ReloadedFiles((path,), lambda: read_tokens(path)) if path else None,
        RateLimits(settings.limits),
    )


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
        for number in (*STOP_SIGNALS, signal.SIGHUP):
            loop.remove_signal_handler(number)
