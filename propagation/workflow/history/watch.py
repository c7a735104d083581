"""Watching propagation: rounds, their messages, merges and evolution, each told once, from a
position on.

Nothing is queued for a watcher: it reads the graph from where it stands, as fast as it likes. What
retention or erasure dropped before it was told is counted as missed; so is what a watcher that had
caught up left lying for too long."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace

from propagation.model.routers.evolution import EvolutionRun
from propagation.model.routers.round import Round
from propagation.model.routers.router import RouterVersion
from propagation.model.watch_events import Gap, NumberedMerge, WatchEventKind
from propagation.ports.graph.graph_store import GraphStore

PAGE = 200
BEHIND = 10_000
ALL_SENT = 1 << 31
WatchEvent = Round | RouterVersion | NumberedMerge | EvolutionRun | Gap


@dataclass(frozen=True, slots=True)
class Position:
    """What was told: every round up to `round`; of that round's messages, `sent` in all, the last
    of them `router`'s (-1: none yet; ALL_SENT: none is left); every merge and every evolution run
    up to a number."""

    round: int = 0
    sent: int = 0
    router: int = -1
    merge: int = 0
    evolution: int = 0


class Watcher:
    """One watcher. `behind`: how many events it may leave lying once it has caught up with where it
    began."""

    def __init__(
        self,
        store: GraphStore,
        kinds: Collection[WatchEventKind],
        position: Position,
        newest: Position,
        behind: int = BEHIND,
    ) -> None:
        self._store = store
        self._kinds = frozenset(kinds)
        self._began = newest
        self._behind = behind
        self.position = position

    async def step(self) -> AsyncIterator[tuple[WatchEvent, Position]]:
        """What waits, at most some pages of it, each with the position after it; nothing where all
        is told. Merges are looked up first and told last: the message that a merge is of was always
        told before."""
        through = await self._store.merges_through()
        async for told in self._rounds():
            yield told
        async for told in self._evolutions():
            yield told
        async for told in self._merges(through):
            yield told

    def _at(self, told: WatchEvent, position: Position) -> tuple[WatchEvent, Position]:
        self.position = position
        return told, position

    async def _rounds(self) -> AsyncIterator[tuple[WatchEvent, Position]]:
        if not self._kinds & {WatchEventKind.ROUND, WatchEventKind.MESSAGE}:
            return
        missed, last = await self._left_lying()
        if missed and last is not None:
            yield self._at(
                Gap(missed, last.sequence),
                replace(self.position, round=last.number, sent=last.touched, router=ALL_SENT),
            )
        here = (
            await self._store.rounds_after(self.position.round - 1, 1)
            if self.position.round
            else ()
        )
        for round_ in here:
            async for told in self._messages(round_):
                yield told
        for round_ in await self._store.rounds_after(self.position.round, PAGE):
            begun = replace(self.position, round=round_.number, sent=0, router=-1)
            if WatchEventKind.ROUND in self._kinds:
                yield self._at(round_, begun)
            self.position = begun
            async for told in self._messages(round_):
                yield told

    async def _messages(self, round_: Round) -> AsyncIterator[tuple[WatchEvent, Position]]:
        """What is left to tell of one round."""
        all_told = self.position.router == ALL_SENT or self.position.sent >= round_.touched > 0
        if WatchEventKind.MESSAGE not in self._kinds or all_told:
            return
        kept = [
            message
            for message in await self._store.messages_of(round_.number)
            if message.router > self.position.router
        ]
        missed = round_.touched - self.position.sent - len(kept)
        if missed > 0:
            yield self._at(
                Gap(missed, round_.sequence),
                replace(self.position, sent=self.position.sent + missed),
            )
        for message in kept:
            yield self._at(
                message, replace(self.position, sent=self.position.sent + 1, router=message.router)
            )

    async def _left_lying(self) -> tuple[int, Round | None]:
        """(events of rounds that are too many, the last round of them); (0, None) where they are
        not too many."""
        if self.position.round < self._began.round:
            return 0, None
        rounds: list[Round] = []
        while part := await self._store.rounds_after(
            rounds[-1].number if rounds else self.position.round, self._behind
        ):
            rounds.extend(part)
        events = sum(
            (WatchEventKind.ROUND in self._kinds)
            + (round_.touched if WatchEventKind.MESSAGE in self._kinds else 0)
            for round_ in rounds
        )
        return (events, rounds[-1]) if events > self._behind else (0, None)

    async def _evolutions(self) -> AsyncIterator[tuple[WatchEvent, Position]]:
        if WatchEventKind.EVOLUTION not in self._kinds:
            return
        for run in await self._runs_after(self.position.evolution):
            yield self._at(run, replace(self.position, evolution=run.run))

    async def _runs_after(self, number: int) -> Sequence[EvolutionRun]:
        """Oldest first."""
        found: list[EvolutionRun] = []
        last = await self._store.evolution_runs(1)
        if not last or last[0].run <= number:
            return found
        while part := await self._store.evolution_runs(PAGE, found[-1].run if found else None):
            found.extend(run for run in part if run.run > number)
            if part[-1].run <= number + 1:
                break
        return found[::-1]

    async def _merges(self, through: int) -> AsyncIterator[tuple[WatchEvent, Position]]:
        """Up to a number, a page of them."""
        position = self.position
        if WatchEventKind.MERGE not in self._kinds or through <= position.merge:
            return
        newest = await self._store.recorded_through()
        if position.merge >= self._began.merge and through - position.merge > self._behind:
            yield self._at(Gap(through - position.merge, newest), replace(position, merge=through))
            return
        page = await self._store.merges_after(position.merge, through, PAGE)
        for merge in page:
            if missed := merge.number - self.position.merge - 1:
                yield self._at(
                    Gap(missed, merge.sequence), replace(self.position, merge=merge.number - 1)
                )
            yield self._at(merge, replace(self.position, merge=merge.number))
        if len(page) < PAGE and (missed := through - self.position.merge):
            yield self._at(Gap(missed, newest), replace(self.position, merge=through))


async def graph_birth_time(store: GraphStore) -> int:
    """When the graph's first entry was committed (milliseconds since 1970), which tells it from
    others, and not from copies of it; 0 while it has none."""
    entries = await store.read_entries(0, 1)
    return entries[0].time if entries else 0


async def newest(store: GraphStore) -> Position:
    """Where a watcher begins that was told nothing yet: everything before is past."""
    merge, last, runs = (
        await store.merges_through(),
        await store.last_round(),
        await store.evolution_runs(1),
    )
    return Position(
        round=last.number if last else 0,
        sent=last.touched if last else 0,
        router=ALL_SENT,
        merge=merge,
        evolution=runs[0].run if runs else 0,
    )
