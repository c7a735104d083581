"""Metrics and traces around a service, as its settings ask; nothing where they ask for none."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import grpc

from propagation.model.clients.client import ClientKind
from propagation.model.errors import PropagationError
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.vector_index import VectorIndex
from propagation.workflow.engine import Engine
from services.config.settings import MonitoringSettings, ServerSettings
from services.monitoring.endpoint import metrics_endpoint
from services.monitoring.instrumented_ports import Observed
from services.monitoring.metrics import Metrics
from services.monitoring.rpc_timing import Timing
from services.runtime.errors import NotInstalled
from services.security.admission import Admission
from services.worker.worker import Worker

if TYPE_CHECKING:
    from services.monitoring.traces import Traces

DEAD_LETTERS_COUNTED = 100_000
STORE_SECONDS = 3.0


class Monitor:
    """Wraps the parts before the engine is made of them, then shows what the worker and the store
    say when it is asked."""

    def __init__(self, settings: MonitoringSettings, holder: str) -> None:
        self._settings = settings
        self._metrics = Metrics()
        self._traces = _traces(settings, holder)

    def around(self, store: GraphStore, index: VectorIndex) -> tuple[GraphStore, VectorIndex]:
        """The same, watched."""
        metrics = self._metrics
        return (
            cast(
                GraphStore, Observed(store, "store", metrics.store_seconds, metrics, self._traces)
            ),
            cast(VectorIndex, Observed(index, "index", metrics.index_seconds, metrics, None)),
        )

    def interceptors(self) -> list[grpc.aio.ServerInterceptor]:  # type: ignore[type-arg]
        """To stand before Guard."""
        return [Timing(self._metrics.rpc_seconds)]

    @contextlib.asynccontextmanager
    async def shown(
        self, engine: Engine, worker: Worker, server: ServerSettings, admission: Admission
    ) -> AsyncIterator[str | None]:
        """While the service runs: where the metrics are, None where no port is set."""
        self._metrics.show_counters(worker.counters)
        self._metrics.show_spending(lambda: engine.expenses.this_run)

        looking = asyncio.Lock()

        async def text() -> bytes:
            async with looking:  # what one sets another would clear
                await self._look(engine, worker)
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

    async def _look(self, engine: Engine, worker: Worker) -> None:
        """What only shows when it is looked at: what this process knows, and what the store says,
        where it answers."""
        metrics = self._metrics
        for gauge in (
            metrics.sequence,
            metrics.lag,
            metrics.queue,
            metrics.clients,
            metrics.failing,
        ):
            gauge.clear()
        _set(metrics.sequence, {"learned": engine.numbers.view.applied_through})
        _set(metrics.queue, {"merges": worker.merges_waiting})
        for budget in engine.expenses.budgets:
            metrics.budget_used.labels(budget.name).set(budget.used)
            metrics.budget_limit.labels(budget.name).set(budget.limit)
        _set(metrics.failing, dict.fromkeys(worker.failing, 1))
        answered = False
        with contextlib.suppress(PropagationError, TimeoutError):
            async with asyncio.timeout(STORE_SECONDS):
                await self._ask(engine)
            answered = True
        _set(metrics.answers, {"store": answered})

    async def _ask(self, engine: Engine) -> None:
        metrics, store = self._metrics, engine.store
        recorded, reasoned = await store.recorded_through(), await store.reasoned_through()
        learned, letters = (
            engine.numbers.view.applied_through,
            await store.dead_letters(DEAD_LETTERS_COUNTED),
        )
        _set(metrics.sequence, {"recorded": recorded, "learned": learned, "reasoned": reasoned})
        _set(
            metrics.lag,
            {"learned": max(recorded - learned, 0), "reasoned": max(recorded - reasoned, 0)},
        )
        _set(metrics.queue, {"outbox": await store.count_changes(), "dead_letters": len(letters)})
        _set(
            metrics.clients,
            {kind.name.lower(): await store.count_clients(kind) for kind in ClientKind},
        )


def _set(gauge: Any, values: Mapping[str, float]) -> None:
    for label, value in values.items():
        gauge.labels(label).set(value)


def _traces(settings: MonitoringSettings, holder: str) -> "Traces | None":
    """Raises NotInstalled."""
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
    return Traces(exporter, settings.trace_share, holder)
