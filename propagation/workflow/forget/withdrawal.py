"""Taking back interactions, whatever for: numbers first (in memory), then everything in one commit
with a new barrier. A crash before the commit is as if nothing had happened; after it the next start
finishes what lagged."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from propagation.model.clients.client import Client, ClientKind, index_of, kind_of
from propagation.model.errors import LeaseLost
from propagation.model.interactions.interaction import InteractionRow
from propagation.model.interactions.learned_block import StagedCheckpoint
from propagation.model.interactions.log import EntryKind
from propagation.model.interactions.withdrawal import (
    LearnedWeights,
    PromotedRepeat,
    Withdrawal,
    WithdrawalResult,
)
from propagation.ports.embedder import Embedder
from propagation.ports.graph.graph_store import ForgettingGraph, VersionClash
from propagation.ports.graph.leases import Lease
from propagation.ports.graph.outbox import IndexChange
from propagation.ports.vector_index import Collection
from propagation.workflow.concurrency.leases import ROUND_LEASE, WAIT_SECONDS, Leases
from propagation.workflow.concurrency.tasks import background_task
from propagation.workflow.forget.learned_histories import Histories, in_routers_of_now
from propagation.workflow.forget.number_changes import Subtraction
from propagation.workflow.forget.text_changes import TextChanges, Withdrawing
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.vector_sync import COLLECTIONS, VectorSync
from propagation.workflow.learn.checkpoints import lent_own, lent_rest
from propagation.workflow.learn.learner import Learner
from propagation.workflow.views.numbers_owner import NumbersOwner

REDONE = 5
USERS_A_TURN = 16
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Leaving:
    """A client that is forgotten: `names`, attributes of its own text that are in nobody else's;
    `said`, all of them; `sent_under`, routers that were itself (point-to-point)."""

    client: Client
    names: frozenset[str]
    said: frozenset[str]
    sent_under: tuple[int, ...]


@dataclass(frozen=True)
class Asked:
    """What is to be taken back, with what it had written."""

    rows: Sequence[InteractionRow]
    written: LearnedWeights
    leaving: Leaving | None


@dataclass(frozen=True)
class Outcome:
    """What was done: the commit, and the texts that changed with it."""

    done: WithdrawalResult
    changes: TextChanges


class TakingBack:
    """One at a time, while nothing in this process learns, reasons, merges or runs a round; leases
    keep other processes still."""

    def __init__(
        self,
        store: ForgettingGraph,
        embedder: Embedder,
        numbers: NumbersOwner,
        learner: Learner,
        vectors: VectorSync,
        upkeep: IndexMaintenance,
        min_support: int,
        leases: Leases,
    ) -> None:
        self._store = store
        self._numbers = numbers
        self._learner = learner
        self._vectors = vectors
        self._upkeep = upkeep
        self._histories = Histories(store, embedder)
        self._min_support = min_support
        self._leases = leases

    async def withdraw(
        self, rows: Sequence[InteractionRow], leaving: Leaving | None = None
    ) -> Outcome:
        """These interactions, or everything of a client, whose interactions they are then. Raises
        LeaseLost."""
        async with self._still() as lease:
            asked = Asked(
                rows, await self._store.learned_weights([row.sequence for row in rows]), leaving
            )
            known = self._store.stage_checkpoint(lease, await self._numbers.run(lent_own))
            async with (
                background_task(self._changes(asked)) as changes,
                background_task(known) as begun,
            ):
                promoted = await self._subtract(asked)
                rest = await self._numbers.run(lent_rest, *_own_rows(asked))
                barrier = await self._store.stage_checkpoint(lease, rest, await begun)
                return await self._committed(lease, barrier, await changes, promoted, asked)

    @asynccontextmanager
    async def _still(self) -> AsyncIterator[Lease]:
        """Nobody else learns or runs a round; the learner's lease, under which this process goes
        on."""
        async with (
            self._learner.hold_lease() as lease,
            self._leases.hold(ROUND_LEASE, WAIT_SECONDS) as rounds,
        ):
            if rounds is None:
                raise LeaseLost(
                    f"another process runs a round, and was not done in {WAIT_SECONDS:.0f} s; try again"
                )
            yield lease

    async def _subtract(self, asked: Asked) -> list[PromotedRepeat]:
        """The view without them. Others' trust stays, also that of the users of a forgotten item."""
        rows = asked.rows
        erased = None if asked.leaving is None else asked.leaving.client.ref
        retrust = erased is None or kind_of(erased) == ClientKind.USER
        view = self._numbers.view
        maps = await self._store.router_maps()
        subtraction = Subtraction(
            in_routers_of_now(asked.written, rows, maps), asked.written.routers, maps, retrust
        )
        gone = frozenset(row.sequence for row in rows)
        users = sorted({row.user for row in rows if row.sequence <= view.applied_through})
        self._learner.mark_ahead()
        async for some in self._histories.parts(
            users, gone, view.applied_through, view.direction_of
        ):
            for start in range(0, len(some), USERS_A_TURN):
                await self._numbers.run(subtraction.withdraw, some[start : start + USERS_A_TURN])
        await self._numbers.run(subtraction.finish, erased)
        return subtraction.promoted

    async def _committed(
        self,
        lease: Lease,
        barrier: StagedCheckpoint,
        changes: TextChanges,
        promoted: Sequence[PromotedRepeat],
        asked: Asked,
    ) -> Outcome:
        """Redone on the newer texts where another process wrote some meanwhile."""
        for attempt in range(REDONE):
            withdrawal = _withdrawal(asked, promoted, changes)
            try:
                done = await self._store.withdraw(lease, withdrawal, barrier)
            except VersionClash:
                if attempt == REDONE - 1:
                    raise
                changes = await self._changes(asked)
            else:
                self._learner.mark_stored(done.sequence)
                return Outcome(done, changes)
        raise AssertionError("unreachable")

    async def _changes(self, asked: Asked) -> TextChanges:
        texts_read_through = await self._store.texts_through()
        withdrawing = Withdrawing(self._store, self._min_support, self._vectors.canonical)
        if asked.leaving is None:
            changes = await withdrawing.of_retraction(asked.rows, asked.written)
        else:
            changes = await withdrawing.of_erasure(
                asked.leaving.client, asked.leaving.names, asked.rows, asked.written
            )
        return replace(changes, texts_read_through=texts_read_through)

    async def show(self, outcome: Outcome, client: Client | None, unmapped: frozenset[str]) -> None:
        """The vector index, and the view's profile vectors, as the graph now has them. The graph is
        right without them: what fails here waits in the outbox, and is carried over by upkeep."""
        changes = outcome.changes
        gone = frozenset(name for name, holders in changes.holders.items() if holders <= 0)
        erased = {} if client is None else {COLLECTIONS[kind_of(client.ref)]: [client.ref]}
        self._vectors.forget([ref for refs in erased.values() for ref in refs], gone, unmapped)
        await self._vectors.publish(changes.next_texts)
        try:
            await self._upkeep.follow_withdrawal(
                {**erased, Collection.ATTRIBUTES: sorted(gone)},
                [
                    IndexChange(Collection.ROUTERS, message.router, message.version, message.round)
                    for message in changes.messages
                ],
            )
        except Exception as error:
            log.warning(
                "the index lags: what was taken back at %d is not all shown, it will be tried again: %s",
                outcome.done.sequence,
                error,
            )


def _withdrawal(
    asked: Asked, promoted: Sequence[PromotedRepeat], changes: TextChanges
) -> Withdrawal:
    rows, leaving = asked.rows, asked.leaving
    retraction = Withdrawal(
        kind=EntryKind.RETRACTION,
        refs=tuple(sorted({row.user for row in rows})),
        interactions=rows,
        texts_read_through=changes.texts_read_through,
        promoted=promoted,
        rewritten=changes.rewritten,
        texts=changes.next_texts,
        messages=changes.messages,
        reduced_messages=changes.reduced_messages,
        client_attributes=changes.client_attributes,
        holders=changes.holders,
    )
    if leaving is None:
        return retraction
    client = leaving.client
    return replace(
        retraction,
        kind=EntryKind.ERASURE,
        refs=(client.ref,),
        erased=client.ref,
        sent_under=leaving.sent_under,
        unmapped=leaving.said,
        words=tuple(word for word in (client.title, client.key.id) if word),
    )


def _own_rows(asked: Asked) -> tuple[list[int], list[int]]:
    """(Users, items) whose own numbers these interactions are in, as rows."""
    refs = {ref for row in asked.rows for ref in (row.user, row.item)} | (
        {asked.leaving.client.ref} if asked.leaving else set()
    )
    users = [index_of(ref) for ref in refs if kind_of(ref) == ClientKind.USER]
    return users, [index_of(ref) for ref in refs if kind_of(ref) == ClientKind.ITEM]
