"""Events: RecordInteractions, StreamInteractions and RetractInteractions.

Back-pressure: a caller that does not read its acknowledgements has to wait with its events.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from propagation.model import (
    ID_MAX_BYTES,
    InvalidInput,
    NewInteraction,
    RecordStatus,
    check_id,
)
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.concurrency import run_in_background
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests import check_count, parse_interaction
from services.runtime.errors import Stopping
from services.runtime.process import SystemClock
from services.security.roles import Role, admitted_caller

EVENTS_A_TURN = 500  # events validated before other calls get their turn
EventQueue = asyncio.Queue[pb.Interaction | None]
OutcomeQueue = asyncio.Queue[list[pb.InteractionOutcome] | None]
RECORDED = {
    RecordStatus.ACCEPTED: pb.INTERACTION_STATUS_ACCEPTED,
    RecordStatus.DUPLICATE: pb.INTERACTION_STATUS_DUPLICATE,
}
REJECTIONS = {
    RecordStatus.CONFLICT: (
        "event_id",
        "CONFLICT",
        "was used before with other content; give this event its own id",
    ),
    RecordStatus.UNKNOWN_USER: (
        "user_id",
        "UNKNOWN",
        "is not known; upsert the user first, or turn on auto_create",
    ),
    RecordStatus.UNKNOWN_ITEM: (
        "item_id",
        "UNKNOWN",
        "is not known; upsert the item first, or turn on auto_create",
    ),
    RecordStatus.UNKNOWN_NEGATIVE: (
        "negative_item_id",
        "UNKNOWN",
        "is not known; upsert the item first",
    ),
    RecordStatus.FORGOTTEN: ("event_id", "FORGOTTEN", "was erased with its client"),
}


class InteractionsHandler(Servicer):
    """Records events of batches and streams, and takes events back.

    A bad event is rejected, and the other events are recorded.

    Back-pressure: a stream has three steps (read, commit, acknowledge) with bounded queues between
    them. A caller that does not read its acknowledgements thus stops the last step, then the
    second, then the first, and HTTP/2 stops the caller.
    """

    async def RecordInteractions(
        self, request: pb.RecordInteractionsRequest, context: Context
    ) -> pb.RecordInteractionsResponse:
        check_count(request.interactions, "interactions")
        outcomes = await self._record(request.interactions)
        return pb.RecordInteractionsResponse(
            outcomes=outcomes, sequence=max((o.sequence for o in outcomes), default=0)
        )

    async def StreamInteractions(
        self, request_iterator: AsyncIterator[pb.StreamInteractionsRequest], context: Context
    ) -> AsyncGenerator[pb.StreamInteractionsResponse, None]:
        events: EventQueue = asyncio.Queue(maxsize=512)
        groups: OutcomeQueue = asyncio.Queue(maxsize=2)
        async with (
            run_in_background(self._read_events(request_iterator, events)) as reading,
            run_in_background(self._commit_groups(events, groups)) as committing,
            run_in_background(self._cancel_at_stop(reading)),
        ):
            while (outcomes := await groups.get()) is not None:
                for outcome in outcomes:
                    yield pb.StreamInteractionsResponse(outcome=outcome)
            await asyncio.gather(reading, committing)
        if self.stopping.is_set():
            raise Stopping("the service is stopping; send what was not acknowledged again")

    async def RetractInteractions(
        self, request: pb.RetractInteractionsRequest, context: Context
    ) -> pb.RetractInteractionsResponse:
        check_count(request.event_ids, "event_ids")
        ids = [
            check_id(event_id, f"event_ids[{place}]")
            for place, event_id in enumerate(request.event_ids)
        ]
        if request.wipe:
            admitted_caller.get().require("RetractInteractions with wipe", Role.ADMIN)
        done = await self._worker.run_uninterrupted(self._engine.retract(ids, wipe=request.wipe))
        if request.wipe:
            await self._worker.note_run("wiping")
        return pb.RetractInteractionsResponse(
            sequence=done.sequence,
            outcomes=[
                pb.RetractInteractionsResponse.Outcome(
                    event_id=event.event_id,
                    retracted=event.retracted,
                    reason=None if event.retracted else event.before.name,
                )
                for event in done.events
            ],
        )

    async def _cancel_at_stop(self, reading: asyncio.Task[None]) -> None:
        await self.stopping.wait()
        reading.cancel()

    async def _read_events(
        self, requests: AsyncIterator[pb.StreamInteractionsRequest], events: EventQueue
    ) -> None:
        """Queue the events of a stream, then None for its end.

        If the service stops, no more events are read; events in the queue are still committed.
        """
        try:
            async for request in requests:
                await events.put(request.interaction)
        except asyncio.CancelledError:
            if not self.stopping.is_set():
                raise
        except Exception:
            await events.put(None)
            raise
        await events.put(None)

    async def _commit_groups(self, events: EventQueue, groups: OutcomeQueue) -> None:
        """Commit everything read so far as one group, until the events end.

        If a commit fails, the stream ends after the acknowledgements of the groups before it.
        """
        last = False
        try:
            while not last:
                group = [await events.get()]
                while not events.empty():
                    group.append(events.get_nowait())
                last = group[-1] is None
                await groups.put(
                    await self._record([event for event in group if event is not None])
                )
        except Exception:
            await groups.put(None)
            raise
        await groups.put(None)

    async def _record(self, events: Sequence[pb.Interaction]) -> list[pb.InteractionOutcome]:
        """Record the valid events in one commit.

        Returns:
            An outcome for each event, in order.
        """
        outcomes: list[pb.InteractionOutcome] = []
        valid: list[pb.InteractionOutcome] = []
        interactions: list[NewInteraction] = []
        now = SystemClock().now_ms()
        for place, event in enumerate(events):
            if place and place % EVENTS_A_TURN == 0:
                await asyncio.sleep(0)
            outcome = pb.InteractionOutcome(event_id=event.event_id[:ID_MAX_BYTES])
            outcomes.append(outcome)
            try:
                interactions.append(parse_interaction(event, now))
                valid.append(outcome)
            except InvalidInput as error:
                _reject(outcome, error.field, "INVALID", error.problem)
        if interactions:
            with self._worker.recording():
                recorded = await self._engine.record(interactions)
            for outcome, result in zip(valid, recorded.outcomes, strict=True):
                outcome.sequence = result.sequence
                if result.status in RECORDED:
                    outcome.status = RECORDED[result.status]
                else:
                    _reject(outcome, *REJECTIONS[result.status])
        return outcomes


def _reject(outcome: pb.InteractionOutcome, field: str, reason: str, detail: str) -> None:
    outcome.status = pb.INTERACTION_STATUS_REJECTED
    outcome.field, outcome.reason, outcome.detail = field, reason, detail
