"""The service, from its start to its graceful stop."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import grpc
import structlog

from propagation.forced_exit import create_temporary_folder
from propagation.ports import Clock
from propagation.workflow.engine import Engine
from services.assembly import build_engine
from services.config.settings import Settings, choose_path_redaction
from services.config.sources import LoadedSettings
from services.grpc.interceptor import CallInterceptor
from services.grpc.service import Health, PropagationService, build_server
from services.runtime.errors import NoSocketFile, NotInstalled
from services.runtime.interruption import STOP_SIGNALS, interruption
from services.runtime.kernel_cache import (
    StartCancelled,
    fill_kernel_cache,
    has_compiled_kernels,
)
from services.runtime.logs import configure_logging
from services.runtime.process import (
    SystemClock,
    process_name,
    raise_garbage_thresholds,
    return_large_arrays,
)
from services.runtime.readiness import Readiness
from services.security.address import bind, refuse_open_address, refuse_taken_port
from services.security.admission import Admission
from services.worker.call_priority import CallPriority
from services.worker.worker import Worker

if TYPE_CHECKING:
    from services.monitoring.monitor import Monitor

log = structlog.get_logger()


@dataclass(frozen=True)
class Running:
    """The parts of a service, and its addresses.

    Addresses are HOST:PORT; the page's begins with http or https.
    """

    address: str
    engine: Engine
    worker: Worker
    server: grpc.aio.Server
    service: PropagationService
    health: Health
    admission: Admission
    metrics: str | None = None
    page: str | None = None

    async def stop(self, grace_seconds: float | None) -> None:
        """Refuse new calls, and let running ones end.

        Streams deliver their acknowledgements; running calls and models are waited for.

        Args:
            grace_seconds: How long to wait for them; None cuts them off at once.
        """
        self.engine.stop_within(grace_seconds or 0)
        await self.health.enter_graceful_shutdown()
        self.service.stopping.set()
        await self.server.stop(grace_seconds)


async def _start(server: grpc.aio.Server) -> None:
    """Start the server to the end, even if the caller is cancelled.

    A start that is cut off in the middle (grpc.aio) makes `stop` fail.
    """
    started = asyncio.ensure_future(server.start())
    try:
        await asyncio.shield(started)
    except asyncio.CancelledError:
        await started
        raise


async def serve(loaded: LoadedSettings, announce: Callable[[Running], None]) -> None:
    """Serve until SIGTERM or SIGINT.

    A signal during the start ends the process within two seconds. Later, the first signal lets
    running calls end for `grace_seconds`, and a second one does not wait for them. If the process
    still runs after `drain_seconds` more, it is ended with exit code 1. If the graph's server or
    the embedder does not answer, the start waits for it.

    Args:
        announce: Called when the service is ready.

    Raises:
        NotLoopback, PortTaken, BrokenTokens, BrokenTls: The settings cannot be served.
        StoreBusy, StoreCorrupt, SchemaTooNew, StoreRefused, StoreUnsupported: The store does not
            open.
    """
    settings = loaded.settings
    configure_logging(settings.server.log_format)
    stopping, at_once = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    interruption.exit_code = 0
    with handle_signals(stopping, at_once), contextlib.suppress(StartCancelled):
        async with run_service(settings, stopping=stopping, loaded=loaded) as service:
            server = settings.server
            interruption.drain(server.grace_seconds + server.drain_seconds)
            announce(service)
            reload = service.admission.reload_tokens
            signal.signal(signal.SIGHUP, lambda *_: loop.call_soon_threadsafe(reload))
            await stopping.wait()
            log.info("stopping", grace_seconds=server.grace_seconds)
            stop_at_once = asyncio.create_task(_stop_at_once(service, at_once))
        stop_at_once.cancel()


@contextlib.asynccontextmanager
async def run_service(
    settings: Settings,
    clock: Clock | None = None,
    stopping: asyncio.Event | None = None,
    loaded: LoadedSettings | None = None,
) -> AsyncIterator[Running]:
    """Run a service until the end of the block.

    Its port and its page answer from the start: health says NOT_SERVING, and other calls are
    refused with the reason for the wait. At the end health says NOT_SERVING, streams deliver their
    acknowledgements, calls finish within the grace, the numbers are saved, and the store is closed.

    Args:
        clock: By default the system's.
        stopping: Set this event to give up the start.
        loaded: The same settings with their sources, if they are known.

    Raises:
        StartCancelled: `stopping` was set before the service was ready.
    """
    refuse_open_address(settings.server)
    if settings.monitoring.port is not None:
        refuse_open_address(settings.server, settings.monitoring.host)
        refuse_taken_port(settings.monitoring.host.strip("[]"), settings.monitoring.port)
    if settings.web.port is not None:
        refuse_open_address(settings.server, settings.web.host)
        refuse_taken_port(settings.web.host.strip("[]"), settings.web.port)
    # With a short interval the numbers' thread answers reads between the steps of reasoning.
    sys.setswitchinterval(0.0005)
    raise_garbage_thresholds()
    return_large_arrays()
    stopping = stopping or asyncio.Event()
    readiness = Readiness(stopping)
    monitor = _monitor_if_on(settings)
    loaded = loaded or LoadedSettings.of(settings)
    service = _build(loaded, clock or SystemClock(), readiness, monitor)
    engine, worker = service.engine, service.worker

    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(engine.close)
        stack.push_async_callback(service.stop, None)
        socket = _open_socket_file(service.server, stack) if settings.web.port is not None else None
        await service.health.report_serving(False)
        await _start(service.server)
        # The page says that the service is starting, and shows it when it has started.
        pages = await stack.enter_async_context(contextlib.AsyncExitStack())
        page = await pages.enter_async_context(_serve_page(settings, socket))
        if page is not None:
            log.info("the page is open, and the service is starting", page=page)

        await _open(settings, engine, readiness, stopping)
        await service.health.report_serving(True)

        stack.push_async_callback(worker.stop)
        # If the graph's server does not answer this process, a replica may still reach it.
        worker.start(report_reachable=service.health.report_serving)
        stack.push_async_callback(service.stop, settings.server.grace_seconds)
        stack.push_async_callback(pages.aclose)  # it asks nothing of a service that ends its calls
        readiness.declare()

        metrics = await stack.enter_async_context(
            monitor.serve(engine, engine.store, worker, settings.server, service.admission)
            if monitor is not None
            else contextlib.nullcontext()
        )
        log.info("ready", address=service.address, graph=settings.graph, metrics=metrics, page=page)
        yield replace(service, metrics=metrics, page=page)
    log.info("stopped")


def _open_socket_file(server: grpc.aio.Server, stack: contextlib.AsyncExitStack) -> str:
    """Open a socket file for the page's process.

    Only this user can open the file. So the process needs neither a certificate nor a name that the
    service's certificate has. Returns the file's address.

    Raises:
        NoSocketFile: The folder cannot hold one.
    """
    folder = stack.enter_context(create_temporary_folder("page-"))
    address = f"unix:{folder / 'service'}"
    try:
        server.add_insecure_port(address)
    except RuntimeError as error:
        raise NoSocketFile(folder) from error
    return address


def _serve_page(
    settings: Settings, socket: str | None
) -> contextlib.AbstractAsyncContextManager[str | None]:
    """Serve the page within the block, if it has a port.

    Raises:
        NotInstalled: The page's packages are not installed.
    """
    web, tls = settings.web, settings.server.tls
    if web.port is None or socket is None:
        return contextlib.nullcontext()
    try:
        from services.web.server import PageOptions, serve_page_beside
    except ImportError as error:
        raise NotInstalled("web.port", "web") from error
    files = (tls.certificate, tls.key, tls.client_ca)
    certificate, key, browser_ca = (None if file is None else str(file.resolve()) for file in files)
    return serve_page_beside(
        PageOptions(
            web.host,
            web.port,
            socket,
            certificate=certificate,
            key=key,
            browser_ca=browser_ca,
            token_needed=settings.server.tokens is not None,
            service_has_tokens=settings.server.tokens is not None,
            reports=None if web.reports is None else str(web.reports.resolve()),
        )
    )


def _build(
    loaded: LoadedSettings, clock: Clock, readiness: Readiness, monitor: "Monitor | None"
) -> Running:
    """Build the parts of the service and bind its port.

    Nothing runs yet.
    """
    settings = loaded.settings
    priority = CallPriority()
    instrument = monitor.instrument if monitor else None
    engine = build_engine(settings, priority.yield_to_calls, clock, instrument)
    worker = Worker(engine, priority, settings.schedule, clock)
    admission = Admission(settings.server.tokens, settings.server.limits)
    redact = choose_path_redaction(settings)
    service = PropagationService(engine, worker, loaded, redact)
    health = Health()
    server = build_server(
        service,
        health,
        CallInterceptor(
            priority,
            worker.timings,
            admission,
            readiness,
            redact,
            settings.server.max_message_bytes,
            monitor.observe_call if monitor else None,
        ),
        settings.server.max_message_bytes,
    )
    address = bind(server, settings.server)
    return Running(address, engine, worker, server, service, health, admission)


def _monitor_if_on(settings: Settings) -> "Monitor | None":
    """Build the monitor if the settings ask for metrics or traces.

    If they do not, monitoring is not even imported.

    Raises:
        NotInstalled: The settings ask for a package that is not installed.
    """
    if settings.monitoring.port is None and settings.monitoring.traces is None:
        return None
    from services.monitoring.monitor import Monitor

    return Monitor(settings.monitoring, process_name())


async def _open(
    settings: Settings, engine: Engine, readiness: Readiness, stopping: asyncio.Event
) -> None:
    """Compile kernels that the cache lacks, and open the engine.

    A line in the log says so if this takes more than ten seconds.
    """
    database = settings.database
    # A first start that failed leaves an empty file.
    has_content = database.exists() and database.stat().st_size > 0
    if settings.graph_file and not has_content:
        log.info("there is no graph yet: making one", database=str(database))
    slow_start = asyncio.get_running_loop().call_later(
        10.0,
        log.info,
        "still opening: missing kernels are compiled, then the graph is read",
    )
    try:
        if not has_compiled_kernels():
            await fill_kernel_cache(stopping, log.info)
        await engine.open(reach=readiness.reach)
    finally:
        slow_start.cancel()


async def _stop_at_once(service: Running, signalled: asyncio.Event) -> None:
    await signalled.wait()
    await service.stop(None)


@contextlib.contextmanager
def handle_signals(stopping: asyncio.Event, at_once: asyncio.Event) -> Iterator[None]:
    """Let signals within the block stop the service.

    The first SIGTERM or SIGINT sets `stopping`, the second `at_once`.
    """
    loop = asyncio.get_running_loop()

    def handle() -> None:
        (at_once if stopping.is_set() else stopping).set()

    # No loop.add_signal_handler here or for SIGHUP: it would take the pipe of `interruption`.
    before = {
        number: signal.signal(number, lambda *_: loop.call_soon_threadsafe(handle))
        for number in STOP_SIGNALS
    }
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        for number, handler in before.items():
            signal.signal(number, handler)
