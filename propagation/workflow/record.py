"""The record commit, which calls with few events share."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from propagation.model import InvalidInput, NewInteraction, RecordOutcome, StoreUnreachable
from propagation.ports import GraphStore
from propagation.workflow.views import PendingEvents

FEW_EVENTS, EVENTS_PER_COMMIT = 100, 1_000
"""Calls with at most FEW_EVENTS share commits of at most EVENTS_PER_COMMIT events."""


@dataclass(frozen=True)
class WaitingCall:
    """A call whose events wait for the next commit."""

    events: Sequence[NewInteraction]
    done: asyncio.Future[Sequence[RecordOutcome]]


class Recorder:
    """Records interactions in the order in which callers bring them.

    While a commit is under way, calls with few events wait, and the next commit takes them all. A
    commit costs much the same for one event as for a hundred.

    Args:
        auto_create: Whether an event creates the clients that it names.
    """

    def __init__(
        self, store: GraphStore, pending_events: PendingEvents, *, auto_create: bool
    ) -> None:
        self._store = store
        self._pending_events = pending_events
        self._auto_create = auto_create
        self._waiting: deque[WaitingCall] = deque()
        self._committing: asyncio.Task[None] | None = None

    async def record(self, events: Sequence[NewInteraction]) -> Sequence[RecordOutcome]:
        """Record interactions; they are durable when this returns.

        If the call is cancelled, its events may be recorded all the same.

        Returns:
            An outcome for each event, in order.
        """
        if len(events) > FEW_EVENTS:
            return await self._commit(events)
        call = WaitingCall(events, asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        if self._committing is None or self._committing.done():
            self._committing = asyncio.create_task(self._commit_waiting())
        return await call.done

    async def finish(self) -> None:
        """Wait until no call waits for a commit."""
        if self._committing is not None:
            await asyncio.wait([self._committing])

    async def _commit_waiting(self) -> None:
        while group := self._take_next_group():
            await self._commit_group(group)

    def _take_next_group(self) -> list[WaitingCall]:
        """Take the calls of the next commit; their callers are still there."""
        group: list[WaitingCall] = []
        room = EVENTS_PER_COMMIT
        while self._waiting and len(self._waiting[0].events) <= room:
            call = self._waiting.popleft()
            if not call.done.cancelled():
                group.append(call)
                room -= len(call.events)
        return group

    async def _commit_group(self, group: Sequence[WaitingCall]) -> None:
        """Commit the events of calls together, and tell each call its outcomes.

        If the store refuses an event, each call has a commit of its own, so that only the call
        with that event fails. If its server does not answer, all waiting calls end, so that none
        waits longer than the store does.
        """
        try:
            outcomes = await self._commit([event for call in group for event in call.events])
        except InvalidInput as error:
            if len(group) > 1:
                for call in group:
                    await self._commit_group([call])
            else:
                _fail(group, error)
        except StoreUnreachable as error:
            # The calls that came meanwhile have waited for this server, too.
            _fail((*group, *self._waiting), error)
            self._waiting.clear()
        except Exception as error:
            _fail(group, error)
        else:
            first = 0
            for call in group:
                if not call.done.done():
                    call.done.set_result(outcomes[first : first + len(call.events)])
                first += len(call.events)

    async def _commit(self, events: Sequence[NewInteraction]) -> Sequence[RecordOutcome]:
        recorded = await self._store.record(events, auto_create=self._auto_create)
        self._pending_events.add_recorded(
            events, recorded.outcomes, has_clients_entry=bool(recorded.created)
        )
        return recorded.outcomes


def _fail(group: Sequence[WaitingCall], error: Exception) -> None:
    for call in group:
        if not call.done.done():
            call.done.set_exception(error)
