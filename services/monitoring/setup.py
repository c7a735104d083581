"""What watches a service: nothing, unless its settings ask for it. What is not asked for is not
imported."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import grpc

from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.vector_index import VectorIndex
from propagation.workflow.engine import Engine
from services.config.settings import MonitoringSettings, ServerSettings
from services.security.admission import Admission
from services.worker.worker import Worker


class Monitoring(Protocol):
    def around(self, store: GraphStore, index: VectorIndex) -> tuple[GraphStore, VectorIndex]:
        """What the engine is made of, watched."""

    def interceptors(self) -> Sequence[grpc.aio.ServerInterceptor]:  # type: ignore[type-arg]  # generic in its stubs only
        """What every call passes first."""

    def shown(
        self, engine: Engine, worker: Worker, server: ServerSettings, admission: Admission
    ) -> contextlib.AbstractAsyncContextManager[str | None]:
        """While the service runs: where the metrics are, None where they are not asked for."""


class Off:
    """Nothing is watched, and it costs nothing."""

    def around(self, store: GraphStore, index: VectorIndex) -> tuple[GraphStore, VectorIndex]:
        return store, index

    def interceptors(self) -> Sequence[grpc.aio.ServerInterceptor]:  # type: ignore[type-arg]
        return ()

    @contextlib.asynccontextmanager
    async def shown(
        self, engine: Engine, worker: Worker, server: ServerSettings, admission: Admission
    ) -> AsyncIterator[str | None]:
        yield None


def monitoring_of(settings: MonitoringSettings, holder: str) -> Monitoring:
    """Raises NotInstalled."""
    if settings.port is None and settings.traces is None:
        return Off()
    from services.monitoring.monitor import Monitor

    return Monitor(settings, holder)
