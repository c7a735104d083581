"""Monitoring that is off: the interface that Monitor implements."""

import contextlib
from collections.abc import AsyncIterator

from propagation.ports import GraphStore, VectorIndex
from propagation.workflow.engine import Engine
from services.config.settings import ServerSettings
from services.security.admission import Admission
from services.worker.worker import Worker


class Monitoring:
    """No monitoring, at no cost; Monitor overrides each method."""

    def around(self, store: GraphStore, index: VectorIndex) -> tuple[GraphStore, VectorIndex]:
        """Wrap the ports before the engine is built from them."""
        return store, index

    def observe_call(self, rpc: str, code: str, seconds: float) -> None:
        """Take in a call that has ended.

        Args:
            code: The name of its status code.
        """

    @contextlib.asynccontextmanager
    async def serve(
        self, engine: Engine, worker: Worker, server: ServerSettings, admission: Admission
    ) -> AsyncIterator[str | None]:
        """Serve the metrics within the block.

        Yields:
            Their HOST:PORT, None if they are off.
        """
        yield None
