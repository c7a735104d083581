"""Metrics and traces of a service."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from propagation.model import ClientKind, PropagationError
from propagation.ports import GraphStore, VectorIndex
from propagation.workflow.engine import Engine
from services.config.settings import MonitoringSettings, ServerSettings
from services.monitoring.endpoint import metrics_endpoint
from services.monitoring.instrumented_ports import InstrumentedPort
from services.monitoring.metrics import CostCollector, CounterCollector, Metrics
from services.monitoring.monitoring import Monitoring
from services.runtime.errors import NotInstalled
from services.security.admission import Admission
from services.worker.worker import Worker

if TYPE_CHECKING:
    from services.monitoring.traces import Traces

MAX_DEAD_LETTERS = 100_000
STORE_DEADLINE_SECONDS = 3.0


class Monitor(Monitoring):
    """Wraps the ports, and collects the state of the worker and the store at each scrape."""

    def __init__(self, settings: MonitoringSettings, process: str) -> None:
        self._settings = settings
        self._metrics = Metrics()
        self._traces = _traces(settings, process)

    def around(self, store: GraphStore, index: VectorIndex) -> tuple[GraphStore, VectorIndex]:
        """Instrument both ports."""
        metrics = self._metrics
        timed_store = InstrumentedPort(store, "store", metrics.store_seconds, metrics, self._traces)
        timed_index = InstrumentedPort(index, "index", metrics.index_seconds, metrics, None)
        return cast(GraphStore, timed_store), cast(VectorIndex, timed_index)

    def observe_call(self, rpc: str, code: str, seconds: float) -> None:
        """Add a call to the histogram of RPCs."""
        self._metrics.rpc_seconds.labels(rpc, code).observe(seconds)

    @contextlib.asynccontextmanager
    async def shown(
        self, engine: Engine, worker: Worker, server: ServerSettings, admission: Admission
    ) -> AsyncIterator[str | None]:
        """Serve the metrics within the block; yields their HOST:PORT, None without a port."""
        for collector in (
            CounterCollector(worker.counters),
            CostCollector(lambda: engine.expenses.this_run),
        ):
            self._metrics.registry.register(collector)
        one_scrape = asyncio.Lock()

        async def text() -> bytes:
            async with one_scrape:  # a scrape clears what another one has set
                await self._collect(engine, worker)
                return await asyncio.to_thread(self._metrics.text)

        try:
            if self._settings.port is None:
                yield None
            else:
                async with metrics_endpoint(
                    self._settings.host, self._settings.port, server, admission, text
                ) as address:
                    yield address
        finally:
            if self._traces is not None:
                await asyncio.to_thread(self._traces.close)

    async def _collect(self, engine: Engine, worker: Worker) -> None:
        """Set the gauges: from this process, and from the store if it answers."""
        metrics = self._metrics
        for gauge in (
            metrics.sequence,
            metrics.lag,
            metrics.queue,
            metrics.clients,
            metrics.failing,
        ):
            gauge.clear()
        _set(metrics.sequence, {"learned": engine.applied_through})
        _set(metrics.queue, {"merges": worker.merges_waiting})
        for budget in engine.expenses.budgets:
            metrics.budget_used.labels(budget.name).set(budget.used)
            metrics.budget_limit.labels(budget.name).set(budget.limit)
        _set(metrics.failing, dict.fromkeys(worker.failing, 1))
        answered = False
        with contextlib.suppress(PropagationError, TimeoutError):
            async with asyncio.timeout(STORE_DEADLINE_SECONDS):
                await self._collect_from_store(engine)
            answered = True
        _set(metrics.answers, {"store": answered})

    async def _collect_from_store(self, engine: Engine) -> None:
        metrics, store = self._metrics, engine.store
        recorded, reasoned = await store.recorded_through(), await store.reasoned_through()
        learned = engine.applied_through
        dead_letters = len(await store.dead_letters(MAX_DEAD_LETTERS))
        _set(metrics.sequence, {"recorded": recorded, "learned": learned, "reasoned": reasoned})
        _set(
            metrics.lag,
            {"learned": max(recorded - learned, 0), "reasoned": max(recorded - reasoned, 0)},
        )
        _set(metrics.queue, {"outbox": await store.count_changes(), "dead_letters": dead_letters})
        _set(
            metrics.clients,
            {kind.name.lower(): await store.count_clients(kind) for kind in ClientKind},
        )


def _set(gauge: Any, values: Mapping[str, float]) -> None:
    for label, value in values.items():
        gauge.labels(label).set(value)


def _traces(settings: MonitoringSettings, process: str) -> "Traces | None":
    """Make the exporter if the settings ask for it. Raises NotInstalled."""
    if settings.traces is None:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        from services.monitoring.traces import Traces
    except ImportError as error:
        raise NotInstalled("monitoring.traces", "telemetry") from error
    exporter = OTLPSpanExporter(
        endpoint=settings.traces, insecure=settings.traces.startswith("http://")
    )
    return Traces(exporter, settings.trace_share, process)
