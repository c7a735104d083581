"""Watching propagation: rounds, messages, merges and evolutions, each once.

A watcher reads on from its position. Nothing is queued for it: it reads the graph at its own pace.
Events that retention or erasure dropped before it read them are counted as missed, as are those
that it left unread for too long.
"""

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, replace
from enum import StrEnum

from propagation.model import EvolutionRun, NumberedMerge, Round, RouterVersion
from propagation.ports import GraphStore

PAGE = 200
MAX_BACKLOG = 10_000
ALL_SENT = 1 << 31
"""Larger than any router's number."""
LIMIT_GROWTH = 10
"""How many times more evolution runs are read while all of them are new to the watcher."""


class WatchEventKind(StrEnum):
    """Kinds of events that a watcher can ask for."""

    ROUND = "round"
    MESSAGE = "message"
    MERGE = "merge"
    EVOLUTION = "evolution"


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that a watcher does not get.

    Attributes:
        missed: How many events are missing.
        sequence: The events happened at or before this sequence.
    """

    missed: int
    sequence: int


WatchEvent = Round | RouterVersion | NumberedMerge | EvolutionRun | Gap


@dataclass(frozen=True, slots=True)
class Position:
    """Position of a watcher: it has got everything up to these numbers.

    Attributes:
        round: Number of the last round.
        sent: How many of that round's messages the watcher got, or was told that it missed.
        router: The router of the last message it got; -1: none yet; ALL_SENT: none is left.
        merge: Number of the last merge.
        evolution: Number of the last evolution run.
    """

    round: int = 0
    sent: int = 0
    router: int = -1
    merge: int = 0
    evolution: int = 0


PositionedEvent = tuple[WatchEvent, Position]
"""An event, and the watcher's position after it."""


@dataclass
class Watcher:
    """One watcher.

    Attributes:
        position: What the watcher has got already.
        start: The newest position when it began: only what comes later counts as unread.
        max_backlog: Most unread events; more are skipped, and counted as a gap.
    """

    store: GraphStore
    kinds: Collection[WatchEventKind]
    position: Position
    start: Position
    max_backlog: int = MAX_BACKLOG

    async def step(self) -> AsyncIterator[PositionedEvent]:
        """Yield the next new events, if there are any.

        The number of the last merge is read first, and merges are yielded last, so that a merge
        always comes after its message.
        """
        through = await self.store.get_merges_through()
        for events in (self._read_rounds(), self._read_evolutions(), self._read_merges(through)):
            async for event in events:
                yield event

    def _advance(self, event: WatchEvent, position: Position) -> PositionedEvent:
        self.position = position
        return event, position

    async def _read_rounds(self) -> AsyncIterator[PositionedEvent]:
        if {WatchEventKind.ROUND, WatchEventKind.MESSAGE}.isdisjoint(self.kinds):
            return
        missed, last = await self._read_backlog()
        if missed and last is not None:
            yield self._advance(
                Gap(missed, last.sequence),
                replace(self.position, round=last.number, sent=last.touched, router=ALL_SENT),
            )
        for round_ in await self.store.get_rounds_after(self.position.round - 1, PAGE):
            if round_.number > self.position.round:
                here = replace(self.position, round=round_.number, sent=0, router=-1)
                if WatchEventKind.ROUND in self.kinds:
                    yield self._advance(round_, here)
                self.position = here
            async for event in self._read_messages(round_):
                yield event

    async def _read_messages(self, round_: Round) -> AsyncIterator[PositionedEvent]:
        """Yield the rest of a round's messages in the routers' order.

        A round sent one message for each touched router. Messages that the store no longer has are
        reported as a gap.
        """
        all_sent = self.position.router == ALL_SENT or self.position.sent >= round_.touched > 0
        if WatchEventKind.MESSAGE not in self.kinds or all_sent:
            return
        kept = [
            message
            for message in await self.store.get_messages_of(round_.number)
            if message.router > self.position.router
        ]
        missed = round_.touched - self.position.sent - len(kept)
        if missed > 0:
            yield self._advance(
                Gap(missed, round_.sequence),
                replace(self.position, sent=self.position.sent + missed),
            )
        for message in kept:
            yield self._advance(
                message, replace(self.position, sent=self.position.sent + 1, router=message.router)
            )

    async def _read_backlog(self) -> tuple[int, Round | None]:
        """Count the unread events.

        Returns:
            The count and the last round if the count is above `max_backlog`; else (0, None).
        """
        if self.position.round < self.start.round:
            return 0, None
        rounds: list[Round] = []
        while part := await self.store.get_rounds_after(
            rounds[-1].number if rounds else self.position.round, self.max_backlog
        ):
            rounds.extend(part)
        events = sum(
            (WatchEventKind.ROUND in self.kinds)
            + (round_.touched if WatchEventKind.MESSAGE in self.kinds else 0)
            for round_ in rounds
        )
        return (events, rounds[-1]) if events > self.max_backlog else (0, None)

    async def _read_evolutions(self) -> AsyncIterator[PositionedEvent]:
        if WatchEventKind.EVOLUTION not in self.kinds:
            return
        limit = 1  # usually no run is new
        newest = await self.store.get_evolution_runs(limit)
        while len(newest) == limit and newest[-1].run > self.position.evolution:
            limit *= LIMIT_GROWTH
            newest = await self.store.get_evolution_runs(limit)
        for run in reversed(newest):
            if run.run > self.position.evolution:
                yield self._advance(run, replace(self.position, evolution=run.run))

    async def _read_merges(self, through: int) -> AsyncIterator[PositionedEvent]:
        """Yield a page of merges up to a number."""
        position = self.position
        if WatchEventKind.MERGE not in self.kinds or through <= position.merge:
            return
        newest = await self.store.get_recorded_through()
        if position.merge >= self.start.merge and through - position.merge > self.max_backlog:
            yield self._advance(
                Gap(through - position.merge, newest), replace(position, merge=through)
            )
            return
        page = await self.store.get_merges_after(position.merge, through, PAGE)
        for merge in page:
            if missed := merge.number - self.position.merge - 1:
                yield self._advance(
                    Gap(missed, merge.sequence), replace(self.position, merge=merge.number - 1)
                )
            yield self._advance(merge, replace(self.position, merge=merge.number))
        if len(page) < PAGE and (missed := through - self.position.merge):
            yield self._advance(Gap(missed, newest), replace(self.position, merge=through))


async def get_graph_birth_time(store: GraphStore) -> int:
    """Return when the graph's first entry was committed.

    This time tells the graph from other graphs, but not from its copies.

    Returns:
        Milliseconds since 1970; 0 if the graph has no entry.
    """
    entries = await store.read_entries(0, 1)
    return entries[0].time if entries else 0


async def get_newest_position(store: GraphStore) -> Position:
    """Return the position of a watcher that begins now."""
    merge = await store.get_merges_through()
    last = await store.get_last_round()
    runs = await store.get_evolution_runs(1)
    return Position(
        round=last.number if last else 0,
        sent=last.touched if last else 0,
        router=ALL_SENT,
        merge=merge,
        evolution=runs[0].run if runs else 0,
    )
