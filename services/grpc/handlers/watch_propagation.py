"""WatchPropagation."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

from propagation.model import NumberedMerge, WatchEventKind
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.watch import (
    MAX_BACKLOG,
    Watcher,
    graph_birth_time,
    newest_position,
)
from services.grpc.convert.references import load_references
from services.grpc.convert.watch_events import event_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.resume_tokens import ResumeTokens
from services.grpc.requests.validation import parse_choice
from services.security.roles import current_caller

KINDS = {
    pb.PROPAGATION_EVENT_KIND_ROUND: WatchEventKind.ROUND,
    pb.PROPAGATION_EVENT_KIND_MESSAGE: WatchEventKind.MESSAGE,
    pb.PROPAGATION_EVENT_KIND_MERGE: WatchEventKind.MERGE,
    pb.PROPAGATION_EVENT_KIND_EVOLUTION: WatchEventKind.EVOLUTION,
}
POLL_SECONDS = 1.0  # another process may have committed something
PAUSE_SECONDS = 0.1
TOKEN_KEY = "propagation-resume-token"


class WatchPropagationHandler(Servicer):
    """Streams events; each watcher reads the graph at its own pace, and delays no other."""

    max_backlog = MAX_BACKLOG

    async def WatchPropagation(
        self, request: pb.WatchPropagationRequest, context: Context
    ) -> AsyncGenerator[pb.WatchPropagationResponse, None]:
        kinds = frozenset(
            parse_choice(
                kind, f"kinds[{place}]", KINDS, "ROUND, MESSAGE, MERGE or EVOLUTION, or no kinds"
            )
            for place, kind in enumerate(request.kinds)
        ) or frozenset(WatchEventKind)
        store, caller = self._engine.store, current_caller()
        now = await newest_position(store)
        tokens = ResumeTokens(kinds, await graph_birth_time(store))
        start = tokens.decode(request.resume_token, now) if request.resume_token else now
        await context.send_initial_metadata(((TOKEN_KEY, tokens.encode(start)),))
        watch = Watcher(store, kinds, start, now, self.max_backlog)
        while not self.stopping.is_set():
            events = [event async for event in watch.step()]
            merged = [event.merge.ref for event, _ in events if isinstance(event, NumberedMerge)]
            references = await load_references(store, caller, refs=merged)
            for event, position in events:
                answer = event_to_proto(event, references)
                answer.resume_token = tokens.encode(position)
                yield answer
            if not events:
                await self._wait_unless_stopping(self._worker.wait_for_progress(POLL_SECONDS))
            await self._wait_unless_stopping(asyncio.sleep(PAUSE_SECONDS))

    async def _wait_unless_stopping(self, work: Coroutine[Any, Any, None]) -> None:
        """Wait for the work, or until the service stops."""
        waits: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(work),
            asyncio.ensure_future(self.stopping.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
