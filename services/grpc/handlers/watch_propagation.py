"""WatchPropagation: what happens, as it happens; resumable."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Coroutine, Sequence
from typing import Any

from propagation.model.errors import InvalidInput
from propagation.model.watch_events import WatchEventKind
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.watch import BEHIND, Watcher, graph_birth_time, newest
from services.grpc.convert.watch_events import answers_of
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.resume_tokens import Resuming
from services.security.roles import current_caller

KINDS = {
    pb.PROPAGATION_EVENT_KIND_ROUND: WatchEventKind.ROUND,
    pb.PROPAGATION_EVENT_KIND_MESSAGE: WatchEventKind.MESSAGE,
    pb.PROPAGATION_EVENT_KIND_MERGE: WatchEventKind.MERGE,
    pb.PROPAGATION_EVENT_KIND_EVOLUTION: WatchEventKind.EVOLUTION,
}
LOOK_SECONDS = 1.0
REST_SECONDS = 0.1
TOKEN_KEY = "propagation-resume-token"


class Watching(Servicer):
    """Each watcher reads the graph at its own pace: one that reads nothing costs nothing and holds
    nobody up."""

    behind = BEHIND

    async def WatchPropagation(
        self, request: pb.WatchPropagationRequest, context: Context
    ) -> AsyncGenerator[pb.WatchPropagationResponse, None]:
        kinds = _kinds(request.kinds)
        store, caller = self._engine.store, current_caller()
        now = await newest(store)
        resuming = Resuming(kinds, await graph_birth_time(store))
        position = resuming.position(request.resume_token, now) if request.resume_token else now
        await context.send_initial_metadata(((TOKEN_KEY, resuming.token(position)),))
        watch = Watcher(store, kinds, position, now, self.behind)
        while not self.stopping.is_set():
            told = [pair async for pair in watch.step()]
            for answer in await answers_of(store, caller, told, resuming):
                yield answer
            if not told:
                await self._unless_stopping(self._worker.progressed(LOOK_SECONDS))
            await self._unless_stopping(asyncio.sleep(REST_SECONDS))

    async def _unless_stopping(self, more: Coroutine[Any, Any, None]) -> None:
        """Until that is done, or the service stops."""
        waiting: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(more),
            asyncio.ensure_future(self.stopping.wait()),
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()


def _kinds(asked: Sequence[pb.PropagationEventKind.ValueType]) -> Collection[WatchEventKind]:
    """Raises InvalidInput."""
    for place, kind in enumerate(asked):
        if kind not in KINDS:
            raise InvalidInput(
                f"kinds[{place}]",
                f"is {kind}; give ROUND, MESSAGE, MERGE or EVOLUTION, or no kinds for all",
            )
    return frozenset(KINDS[kind] for kind in asked) or frozenset(WatchEventKind)
