"""What every group of RPCs shares: the engine, the worker, and how answers say what they reflect."""

import asyncio
from typing import Any

import grpc

from propagation.model.client import ClientKey
from propagation.model.errors import NotFound
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.engine import Engine
from services.worker import Worker

Context = grpc.aio.ServicerContext[Any, Any]


class Servicer:
    """Checks, asks the engine, converts; decides nothing."""

    def __init__(self, engine: Engine, worker: Worker) -> None:
        self._engine = engine
        self._worker = worker
        self.stopping = asyncio.Event()

    async def _ref(self, key: ClientKey) -> int:
        """The client's number. Raises NotFound."""
        (ref,) = await self._engine.store.find_refs([key])
        if ref is None:
            raise NotFound(key.kind.name.lower(), key.id)
        return ref

    async def _reflects(self) -> pb.Reflects:
        return pb.Reflects(applied_through=self._engine.numbers.view.applied_through,
                           reasoned_through=await self._engine.store.reasoned_through())
