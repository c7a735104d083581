"""What every group of RPCs shares: the engine, the worker, and how answers say what they reflect."""

import asyncio
from typing import Any

import grpc

from propagation.model.clients.client import ClientKey
from propagation.model.errors import InvalidInput
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.engine import Engine
from services.config.path_redaction import NO_REDACTION, PathRedaction
from services.worker.worker import Worker

Context = grpc.aio.ServicerContext[Any, Any]
WAIT_SECONDS = 30.0
TO_ANSWER = 0.9


class Servicer:
    """Checks, asks the engine, converts; decides nothing."""

    def __init__(
        self, engine: Engine, worker: Worker, redaction: PathRedaction = NO_REDACTION
    ) -> None:
        self._engine = engine
        self._worker = worker
        self._redaction = redaction
        self.stopping = asyncio.Event()

    async def _ref(self, key: ClientKey) -> int:
        """The client's number. Raises NotFound."""
        return await self._engine.find_ref(key)

    async def _reflects(self, *, exact: bool = True) -> pb.Reflects:
        """Asked before what it is said of is read. Not `exact`: as it was up to a twentieth of a
        second ago."""
        return pb.Reflects(
            applied_through=self._engine.applied_through,
            reasoned_through=await self._engine.reasoned_through(exact=exact),
        )

    async def _wait_for(self, min_sequence: int, context: Context, *, texts: bool = False) -> None:
        """Read your writes: until numbers (and `texts`) reflect it, a little less long than the
        caller waits. Raises NotReached."""
        if min_sequence < 0:
            raise InvalidInput(
                "min_sequence",
                f"is {min_sequence}; give a sequence that an answer named, or leave it out",
            )
        await self._worker.wait_for(min_sequence, self._seconds_left(context), texts=texts)

    def _seconds_left(self, context: Context) -> float:
        """A little less than the caller waits."""
        left = context.time_remaining()
        return TO_ANSWER * left if left is not None else WAIT_SECONDS
