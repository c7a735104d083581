"""The reach of routers' messages.

The service counts it over its newest 200,000 merges. That takes about a second on a large database,
so the page's process asks seldom, and a view does not wait for it long.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import grpc

from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.web.access.sessions import Visitor

FRESH_SECONDS = 20.0
WAIT_SECONDS = 0.5

Reach = Mapping[int, pb.RouterReach]
"""By router of the taste bank; routers that reached nobody are left out."""


@dataclass
class MessageReach:
    """The last answer, and the call that will replace it.

    The answer is the same for all roles.
    """

    clock: Callable[[], float] = time.monotonic
    _kept: Reach | None = None
    _asked: float = field(default=float("-inf"))
    _task: "asyncio.Task[None] | None" = None

    async def find(self, visitor: Visitor) -> Reach | None:
        """Return the reach, at most some seconds old.

        Returns:
            An older answer, or None without one, if the service takes longer than WAIT_SECONDS.
        """
        if self._task is None and self.clock() - self._asked > FRESH_SECONDS:
            self._task = asyncio.create_task(self._ask(visitor))
        if self._task is not None:
            await asyncio.wait([self._task], timeout=WAIT_SECONDS)
        return self._kept

    async def close(self) -> None:
        """End a running call."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _ask(self, visitor: Visitor) -> None:
        try:
            status = await visitor.stub.GetStatus(pb.GetStatusRequest(history=True))
        except (CallFailed, grpc.aio.UsageError):  # the second: the visitor signed out meanwhile
            return  # the view's own calls say what is wrong
        else:
            self._kept = {one.router: one for one in status.reach}
            self._asked = self.clock()
        finally:
            self._task = None
