"""Withdrawal of interactions: numbers in memory first, then everything in one commit.

The commit leaves a new barrier. A crash before it changes nothing; after a crash behind it the
next start finishes the index and the wiping.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from propagation.model import (
    ClientKind,
    EntryKind,
    InteractionRow,
    PromotedRepeat,
    StagedCheckpoint,
    Withdrawal,
    WithdrawalResult,
    index_of,
    kind_of,
    sender_router,
)
from propagation.ports import (
    Collection,
    Embedder,
    GraphStore,
    IndexChange,
    Lease,
    VersionClash,
)
from propagation.workflow.concurrency import Leases, background_task
from propagation.workflow.forget.learned_histories import in_current_routers, load_histories
from propagation.workflow.forget.name_matching import ErasedClient
from propagation.workflow.forget.number_changes import Subtraction
from propagation.workflow.forget.text_changes import (
    TextChangeFinder,
    TextChanges,
    WithdrawalRequest,
)
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.vector_sync import COLLECTIONS, VectorSync
from propagation.workflow.learn.checkpoints import borrow_own_rows, borrow_remainder
from propagation.workflow.learn.learner import Learner
from propagation.workflow.views import NumbersOwner

ATTEMPTS = 5
USERS_A_TURN = 16
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Withdrawn:
    """A committed withdrawal, with the changes of texts that it made."""

    result: WithdrawalResult
    changes: TextChanges
    erased: ErasedClient | None


@dataclass
class Withdrawer:
    """Withdraws interactions, one withdrawal at a time.

    The caller holds Activity.WITHDRAW; leases keep other processes from learning and rounds.
    """

    store: GraphStore
    embedder: Embedder
    numbers: NumbersOwner
    learner: Learner
    vectors: VectorSync
    upkeep: IndexMaintenance
    min_support: int
    leases: Leases

    async def withdraw(
        self, rows: Sequence[InteractionRow], erased: ErasedClient | None = None
    ) -> Withdrawn:
        """Withdraw interactions, and with `erased` everything else of their client.

        Raises:
            LeaseLost: Another process learns or runs a round for too long.
            VersionClash: Other processes wrote texts five times in a row meanwhile.
        """
        async with self.learner.hold_lease() as lease, self.leases.keep_rounds_out():
            weights = await self.store.learned_weights([row.sequence for row in rows])
            request = WithdrawalRequest(rows, weights, erased)
            finder = TextChangeFinder(
                self.store, self.min_support, self.vectors.canonical.targets, request
            )
            own = self.store.stage_checkpoint(lease, await self.numbers.run(borrow_own_rows))
            async with (
                background_task(finder.find()) as changes,
                background_task(own) as staged,
            ):
                promoted = await self._subtract(request)
                rest = await self.numbers.run(borrow_remainder, *_own_rows(request))
                barrier = await self.store.stage_checkpoint(lease, rest, await staged)
                return await self._commit(lease, barrier, await changes, promoted, finder)

    async def _subtract(self, request: WithdrawalRequest) -> list[PromotedRepeat]:
        """Subtract the interactions from the numbers view.

        The trust of other users stays, also of those who chose an erased item.
        """
        rows = request.rows
        erased = request.erased_ref
        view = self.numbers.view
        maps = await self.store.router_maps()
        subtraction = Subtraction(
            in_current_routers(request.weights, rows, maps),
            request.weights.routers,
            maps,
            retrust=erased is None or kind_of(erased) == ClientKind.USER,
        )
        gone = frozenset(row.sequence for row in rows)
        users = sorted({row.user for row in rows if row.sequence <= view.applied_through})
        self.learner.mark_ahead()
        async for histories in load_histories(self.store, self.embedder, users, gone, view):
            for start in range(0, len(histories), USERS_A_TURN):
                await self.numbers.run(
                    subtraction.withdraw, histories[start : start + USERS_A_TURN]
                )
        await self.numbers.run(subtraction.finish, erased)
        return subtraction.promoted

    async def _commit(
        self,
        lease: Lease,
        barrier: StagedCheckpoint,
        changes: TextChanges,
        promoted: Sequence[PromotedRepeat],
        finder: TextChangeFinder,
    ) -> Withdrawn:
        """Commit; find the changes again if another process wrote newer texts meanwhile."""
        for attempt in range(ATTEMPTS):
            withdrawal = _withdrawal(finder.request, promoted, changes)
            try:
                result = await self.store.withdraw(lease, withdrawal, barrier)
            except VersionClash:
                if attempt == ATTEMPTS - 1:
                    raise
                changes = await finder.find()
            else:
                self.learner.mark_stored(result.sequence)
                return Withdrawn(result, changes, finder.request.erased)
        raise AssertionError("unreachable")

    async def publish(self, withdrawn: Withdrawn) -> None:
        """Bring the vector index and the view's profile vectors up to date.

        The graph is right without them: whatever fails here stays in the outbox.
        """
        changes, erased = withdrawn.changes, withdrawn.erased
        gone: dict[Collection, Sequence[int | str]] = {
            Collection.ATTRIBUTES: sorted(changes.unheld)
        }
        if erased is None:
            self.vectors.forget([], changes.unheld, frozenset())
        else:
            ref = erased.client.ref
            gone[COLLECTIONS[kind_of(ref)]] = [ref]
            self.vectors.forget([ref], changes.unheld, erased.names)
        await self.vectors.publish(changes.next_texts)
        try:
            await self.upkeep.follow_withdrawal(
                gone,
                [
                    IndexChange(Collection.ROUTERS, message.router, message.version, message.round)
                    for message in changes.messages
                ],
            )
        except Exception as error:
            log.warning(
                "the index does not show the withdrawal at %d yet; it will be tried again: %s",
                withdrawn.result.sequence,
                error,
            )


def _withdrawal(
    request: WithdrawalRequest, promoted: Sequence[PromotedRepeat], changes: TextChanges
) -> Withdrawal:
    rows, erased = request.rows, request.erased
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
    if erased is None:
        return retraction
    client = erased.client
    return replace(
        retraction,
        kind=EntryKind.ERASURE,
        refs=(client.ref,),
        erased=client.ref,
        sent_under=(sender_router(client.ref),),
        unmapped=erased.names,
        words=tuple(word for word in (client.title, client.key.id) if word),
    )


def _own_rows(request: WithdrawalRequest) -> tuple[list[int], list[int]]:
    """Return rows of the users and of the items whose own numbers change."""
    refs = {ref for row in request.rows for ref in (row.user, row.item)}
    if request.erased is not None:
        refs.add(request.erased.client.ref)
    users = [index_of(ref) for ref in refs if kind_of(ref) == ClientKind.USER]
    return users, [index_of(ref) for ref in refs if kind_of(ref) == ClientKind.ITEM]
