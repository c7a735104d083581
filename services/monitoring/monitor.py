"""Metrics and traces of a service, and GET /metrics for Prometheus.

The endpoint speaks plain HTTP/1.1, or TLS with the service's certificate.
"""

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, cast

from prometheus_client import generate_latest

from propagation.adapters.shared.plain_secrets import refuse_plain_secret
from propagation.model import ClientKind, PropagationError
from propagation.ports import GraphStore, VectorIndex
from propagation.workflow.engine import Engine
from services.config.settings import MonitoringSettings, ServerSettings
from services.monitoring.metrics import CostCollector, CounterCollector, InstrumentedPort, Metrics
from services.runtime.errors import NotAllowed, NotInstalled, PortTaken
from services.security.admission import Admission, NotAuthenticated, find_delay
from services.security.rate_limits import RateLimited
from services.security.roles import SERVICE_PREFIX
from services.security.tls import create_server_context
from services.worker.worker import Worker

if TYPE_CHECKING:
    from services.monitoring.traces import Traces


MAX_HEAD_BYTES = 16 << 10
REQUEST_SECONDS = 10.0
MAX_DEAD_LETTERS = 100_000
STORE_DEADLINE_SECONDS = 3.0
CLEARED = (
    "sequence",
    "lag",
    "queue",
    "clients",
    "failing",
    "reasoned_above",
    "predictions",
    "predictor_is_no_good",
    "reasoning_pace",
)
"""Gauges that a scrape does not show if it cannot find them out."""
# The exporter reads these variables from the environment itself.
SECRET_HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
REFUSALS: Mapping[type[Exception], str] = {
    NotAuthenticated: "401 Unauthorized",
    NotAllowed: "403 Forbidden",
    RateLimited: "429 Too Many Requests",
}
Text = Callable[[], Awaitable[bytes]]


@contextlib.asynccontextmanager
async def serve_metrics_endpoint(
    host: str, port: int, server: ServerSettings, admission: Admission, text: Text
) -> AsyncIterator[str]:
    """Listen within the block; yields HOST:PORT.

    If the service asks for tokens, so does this endpoint. A token needs a role that may call
    GetStatus.

    Args:
        text: Renders the metrics.

    Raises:
        PortTaken: Another process listens at the address.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            TimeoutError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            async with asyncio.timeout(REQUEST_SECONDS):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                host = (writer.get_extra_info("peername") or ("",))[0]
                status, body = await _answer(head, f"ip:[{host}]:0", admission, text)
                writer.write(
                    f"HTTP/1.1 {status}\r\n"
                    "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()

    try:
        listening = await asyncio.start_server(
            answer, host, port, limit=MAX_HEAD_BYTES, ssl=create_server_context(server.tls)
        )
    except OSError as error:
        raise PortTaken(f"{host}:{port}") from error
    async with listening:
        yield f"{host}:{listening.sockets[0].getsockname()[1]}"


async def _answer(
    head: list[str], peer: str, admission: Admission, text: Text
) -> tuple[str, bytes]:
    """Return the status and the body."""
    words = head[0].split(" ")
    if len(words) != 3 or words[0] not in ("GET", "HEAD"):
        return "405 Method Not Allowed", b"GET only\n"
    if words[1].partition("?")[0] != "/metrics":
        return "404 Not Found", b"only /metrics is here\n"
    headers = [
        (name.strip().lower(), value.strip())
        for name, _, value in (line.partition(":") for line in head[1:] if line)
    ]
    try:
        # Metrics show the same as GetStatus, so they need the same role.
        admission.admit(f"{SERVICE_PREFIX}GetStatus", headers, peer)
    except tuple(REFUSALS) as error:
        await asyncio.sleep(find_delay(error))
        return REFUSALS[type(error)], f"{error}\n".encode()
    return "200 OK", await text() if words[0] == "GET" else b""


class Monitor:
    """Wraps the ports, and sets the gauges at each scrape.

    The gauges show the state of the engine, the worker and the store.
    """

    def __init__(self, settings: MonitoringSettings, process: str) -> None:
        self._settings = settings
        self._metrics = Metrics()
        self._traces = _create_traces(settings, process)

    def instrument(self, store: GraphStore, index: VectorIndex) -> tuple[GraphStore, VectorIndex]:
        """Instrument both ports, before the engine is built from them."""
        traces = self._traces.by_call if self._traces else {}
        return (
            cast(GraphStore, InstrumentedPort(store, "store", self._metrics, traces)),
            cast(VectorIndex, InstrumentedPort(index, "index", self._metrics, {})),
        )

    def observe_call(self, rpc: str, code: str, seconds: float) -> None:
        """Add a call that has ended to the histogram of RPCs.

        Args:
            code: The name of its status code.
        """
        self._metrics.seconds["rpc"].labels(rpc, code).observe(seconds)

    @contextlib.asynccontextmanager
    async def serve(
        self,
        engine: Engine,
        store: GraphStore,
        worker: Worker,
        server: ServerSettings,
        admission: Admission,
    ) -> AsyncIterator[str | None]:
        """Serve the metrics within the block.

        Yields:
            HOST:PORT of the metrics; None if no port is set.
        """
        for collector in (
            CounterCollector(worker.counters),
            CounterCollector(store.retries),
            CostCollector(lambda: engine.expenses.this_run),
        ):
            self._metrics.registry.register(collector)
        one_scrape = asyncio.Lock()

        async def text() -> bytes:
            async with one_scrape:  # a scrape clears gauges that another one has set
                await self._collect(engine, store, worker)
                return await asyncio.to_thread(generate_latest, self._metrics.registry)

        host, port = self._settings.host, self._settings.port
        try:
            async with (
                contextlib.nullcontext()
                if port is None
                else serve_metrics_endpoint(host, port, server, admission, text)
            ) as address:
                yield address
        finally:
            if self._traces is not None:
                await asyncio.to_thread(self._traces.close)

    async def _collect(self, engine: Engine, store: GraphStore, worker: Worker) -> None:
        """Set the gauges from this process and from the store.

        The store's gauges are set only if it answers.
        """
        metrics, budgets = self._metrics, engine.expenses.budgets
        for name in CLEARED:
            metrics.gauges[name].clear()
        metrics.set_gauges(
            {
                "sequence": {"learned": engine.applied_through},
                "queue": {"merges": worker.merges_waiting},
                "factor_steps": {"skipped": engine.skipped_factor_steps},
                "budget_used": {budget.name: budget.used for budget in budgets},
                "budget_limit": {budget.name: budget.limit for budget in budgets},
                "failing": dict.fromkeys(worker.failing, 1),
            }
        )
        answered = False
        with contextlib.suppress(PropagationError, TimeoutError):
            async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                await self._collect_from_store(engine.applied_through, store)
                if engine.reasoner.asks_model:
                    await self._collect_from_model(engine)
            answered = True
        metrics.set_gauges({"answers": {"store": answered}})

    async def _collect_from_store(self, learned: int, store: GraphStore) -> None:
        recorded, reasoned = await store.get_recorded_through(), await store.get_reasoned_through()
        dead_letters = await store.get_dead_letters(MAX_DEAD_LETTERS)
        self._metrics.set_gauges(
            {
                "sequence": {"recorded": recorded, "learned": learned, "reasoned": reasoned},
                "lag": {
                    "learned": max(recorded - learned, 0),
                    "reasoned": max(recorded - reasoned, 0),
                },
                "queue": {
                    "outbox": await store.count_changes(),
                    "dead_letters": len(dead_letters),
                },
                "clients": {
                    kind.name.lower(): await store.count_clients(kind) for kind in ClientKind
                },
            }
        )
        backlog = await store.count_backlog()  # last, because it reads all that waits
        self._metrics.set_gauges(
            {
                "queue": {"interactions": backlog.pending},
                "reasoned_above": {"interactions": backlog.done_above},
            }
        )

    async def _collect_from_model(self, engine: Engine) -> None:
        for record in await engine.get_predictor_records():
            counts = record.counts
            for of, count in (
                ("all", counts.predictions),
                ("right", counts.right),
                ("first_place", counts.first),
            ):
                self._metrics.gauges["predictions"].labels(record.name, of).set(count)
            in_use = record.name == engine.reasoner.predictor
            self._metrics.gauges["predictor_is_no_good"].labels(record.name).set(
                in_use and bool(record.warning)
            )
        pace = engine.pace
        if pace.interactions:
            figures = {"seconds": pace.seconds, "tokens": pace.completion_tokens}
            if pace.per_second is not None:
                figures["per_hour"] = 3_600 * pace.per_second
            self._metrics.set_gauges({"reasoning_pace": figures})


def _create_traces(settings: MonitoringSettings, process: str) -> "Traces | None":
    """Make the exporter if the settings ask for it.

    Raises:
        NotInstalled: The exporter's package is missing.
        PlainSecret: The collector's headers would be sent over a network unencrypted.
    """
    if settings.traces is None:
        return None
    for name in SECRET_HEADERS:
        refuse_plain_secret(
            name, os.environ.get(name), settings.traces, "monitoring", settings.insecure
        )
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        from services.monitoring.traces import Traces
    except ImportError as error:
        raise NotInstalled("monitoring.traces", "telemetry") from error
    return Traces(
        OTLPSpanExporter(endpoint=settings.traces, insecure=settings.traces.startswith("http://")),
        settings.trace_share,
        process,
    )
