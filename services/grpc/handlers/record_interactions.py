"""StreamInteractions: one ack an event, in order, after its commit; commits are grouped."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from propagation.v1 import propagation_pb2 as pb
from services.grpc.handlers.record_events import Recording
from services.grpc.handlers.servicer import Context
from services.runtime.errors import Stopping

READ_AHEAD = 512
GROUPS_AHEAD = 2
Events = asyncio.Queue[pb.Interaction | None]
Acks = asyncio.Queue[list[pb.InteractionOutcome] | None]


class Streaming(Recording):
    """Three steps beside each other (read, commit, acknowledge) with bounded queues between them: a
    caller that does not read its acks stops the last, then the second, then the first, and HTTP/2
    stops the caller."""

    async def StreamInteractions(
        self, request_iterator: AsyncIterator[pb.StreamInteractionsRequest], context: Context
    ) -> AsyncGenerator[pb.StreamInteractionsResponse, None]:
        events: Events = asyncio.Queue(READ_AHEAD)
        acks: Acks = asyncio.Queue(GROUPS_AHEAD)
        reading = asyncio.create_task(self._read_events(request_iterator, events))
        committing = asyncio.create_task(self._commit_events(events, acks))
        stop = asyncio.create_task(self._stop_reading(reading))
        try:
            while (outcomes := await acks.get()) is not None:
                for outcome in outcomes:
                    yield pb.StreamInteractionsResponse(outcome=outcome)
            await asyncio.gather(reading, committing)
        finally:
            for step in (reading, committing, stop):
                step.cancel()
            await asyncio.gather(reading, committing, stop, return_exceptions=True)
        if self.stopping.is_set():
            raise Stopping

    async def _stop_reading(self, reading: asyncio.Task[None]) -> None:
        await self.stopping.wait()
        reading.cancel()

    async def _read_events(
        self, requests: AsyncIterator[pb.StreamInteractionsRequest], events: Events
    ) -> None:
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

    async def _commit_events(self, events: Events, acks: Acks) -> None:
        """Whatever has been read is one group. A commit that fails ends the stream after the acks
        before it."""
        last = False
        try:
            while not last:
                group = [await events.get()]
                while not events.empty():
                    group.append(events.get_nowait())
                last = group[-1] is None
                await acks.put(await self._record([event for event in group if event is not None]))
        except Exception:
            await acks.put(None)
            raise
        await acks.put(None)
