"""Withdrawal of interactions: numbers in memory first, then everything in one commit.

The commit leaves a new barrier. If the process dies before the commit, the numbers are as they
were; on Neo4j, older versions of texts may have lost some content already. If it dies after the
commit, the next start finishes the index and the wiping.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from propagation.model import (
    ClientKind,
    EntryKind,
    InteractionRow,
    LearnedWeights,
    PromotedRepeat,
    RouterMaps,
    StagedCheckpoint,
    Withdrawal,
    WithdrawalResult,
    get_kind,
    group_pairs,
    index_of,
    to_seconds,
)
from propagation.ports import (
    COLLECTIONS,
    Collection,
    Embedder,
    GraphStore,
    IndexChange,
    Lease,
    VersionClash,
)
from propagation.workflow.concurrency import Leases, run_in_background
from propagation.workflow.forget.number_changes import History, Subtraction
from propagation.workflow.forget.text_change_finder import TextChangeFinder
from propagation.workflow.forget.text_changes import ErasedClient, TextChanges, WithdrawalRequest
from propagation.workflow.index import write_attribute_text, write_content_text
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.learn import (
    Learner,
    borrow_own_rows,
    borrow_remainder,
    take_checkpoint,
)
from propagation.workflow.views import NumbersOwner, NumbersView

USERS_A_PART = 200


def map_to_current_routers(
    weights: LearnedWeights, rows: Sequence[InteractionRow], maps: RouterMaps
) -> LearnedWeights:
    """Map learned weights' taste routers to those of the current epoch.

    Args:
        rows: The interactions of the weights.
        maps: Maps of the evolutions that were published since.
    """
    user_of = {row.sequence: index_of(row.user) for row in rows}
    users = np.array([user_of[int(sequence)] for sequence in weights.sequence], np.int64)
    routers = weights.routers.copy()
    ages = np.searchsorted(sorted({one.through for one in maps.maps}), weights.sequence)
    for age in np.unique(ages):
        same_age = ages == age
        chain = maps.after(int(weights.sequence[same_age][0]))
        routers[same_age, 1] = chain.map_routers(routers[same_age, 1], users[same_age])
    return replace(weights, routers=routers)


async def load_histories(
    store: GraphStore,
    embedder: Embedder,
    users: Sequence[int],
    withdrawn: frozenset[int],
    view: NumbersView,
) -> AsyncIterator[list[History]]:
    """Yield the learned histories of users, in groups of 200 users.

    The next group is loaded while the caller works on one.

    Args:
        users: Refs.
        withdrawn: Sequences of the interactions that are withdrawn.
    """
    loaded: list[History] = []
    for start in range(0, len(users), USERS_A_PART):
        part = users[start : start + USERS_A_PART]
        async with run_in_background(_load(store, embedder, part, withdrawn, view)) as loading:
            if loaded:
                yield loaded
            loaded = await loading
    if loaded:
        yield loaded


async def _load(
    store: GraphStore,
    embedder: Embedder,
    users: Sequence[int],
    withdrawn: frozenset[int],
    view: NumbersView,
) -> list[History]:
    choices = await store.get_user_choices(users)
    is_withdrawn = np.isin(choices.sequence, np.fromiter(withdrawn, np.int64, len(withdrawn)))
    histories = []
    for user in users:
        places = np.flatnonzero((choices.user == user) & (choices.sequence <= view.applied_through))
        sequence, item = choices.sequence[places], choices.item[places]
        then = {}
        for place in np.flatnonzero(choices.changed[places] > sequence).tolist():
            (client,) = await store.get_clients([int(item[place])], int(sequence[place]))
            content, attributes = await embedder.embed(
                [write_content_text(client), write_attribute_text(client)]
            )
            then[place] = (view.get_direction(index_of(client.ref), content), attributes)
        histories.append(
            History(
                user=index_of(user),
                sequence=sequence,
                item=item >> 1,
                weight=choices.weight[places],
                time=to_seconds(choices.time[places]),
                withdrawn=is_withdrawn[places],
                then=then,
            )
        )
    return histories


ATTEMPTS = 5
USERS_A_TURN = 16
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CommittedWithdrawal:
    """A committed withdrawal, with the changes of texts that it made.

    Attributes:
        erased: The client that was erased, with the items that went; None for a retraction.
    """

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
    index_maintenance: IndexMaintenance
    min_support: int
    leases: Leases

    async def withdraw(
        self, rows: Sequence[InteractionRow], erased: ErasedClient | None = None
    ) -> CommittedWithdrawal:
        """Withdraw interactions, and with `erased` everything else of their client.

        Raises:
            LeaseLost: Another process learns or runs a round for too long.
            VersionClash: Other processes wrote texts five times in a row meanwhile.
        """
        async with self.learner.hold_lease() as lease, self.leases.keep_rounds_out():
            finder = await self._create_finder(rows, erased)
            request = finder.request
            own = self.store.stage_checkpoint(lease, await self.numbers.run(borrow_own_rows))
            async with (
                run_in_background(finder.find()) as changes,
                run_in_background(own) as staged,
                run_in_background(self._prepare()) as prepared,
            ):
                promoted = await self._subtract(request)
                rest = await self.numbers.run(borrow_remainder, *_list_own_rows(request))
                barrier = await self.store.stage_checkpoint(lease, rest, await staged)
                found = await changes
                await asyncio.wait([prepared])  # the commit is slower without it, but right
                return await self._commit(lease, barrier, found, promoted, finder)

    async def find_changes(
        self, rows: Sequence[InteractionRow], erased: ErasedClient | None
    ) -> TextChanges:
        """Find the changes of texts that `withdraw` would make, and change nothing."""
        finder = await self._create_finder(rows, erased)
        return await finder.find()

    async def _create_finder(
        self, rows: Sequence[InteractionRow], erased: ErasedClient | None
    ) -> TextChangeFinder:
        weights = await self.store.get_learned_weights([row.sequence for row in rows])
        request = WithdrawalRequest(
            rows, weights, erased, await self._find_unquotable(rows, erased)
        )
        return TextChangeFinder(
            self.store,
            self.min_support,
            request,
            self.vectors.routers,
            self.vectors.canonical.targets,
        )

    async def _prepare(self) -> None:
        async for _ in self.store.prepare_withdrawal(search=False):
            pass

    async def replace_factors(
        self, finish: Callable[[], Awaitable[Callable[[NumbersView], int] | None]]
    ) -> int:
        """Publish new tables of the factors, with a barrier of the log.

        Args:
            finish: Awaited while nothing else changes the numbers. It returns a function that gives
                the tables to the view and returns how many adoptions they learned, or None.

        Returns:
            How many adoptions the tables learned; 0 if there was nothing to publish.

        Raises:
            LeaseLost: Another process learns or runs a round for too long.
        """
        async with self.learner.hold_lease() as lease, self.leases.keep_rounds_out():
            change = await finish()
            if change is None:
                return 0
            self.learner.mark_ahead()
            count = await self.numbers.run(change)
            found = await self.numbers.run(take_checkpoint, True)
            barrier = await self.store.stage_checkpoint(lease, found)
            # Concerns nobody: new numbers alone, whose barrier the other processes load.
            nothing = Withdrawal(EntryKind.FACTORS, (), (), await self.store.get_texts_through())
            result = await self.store.withdraw(lease, nothing, barrier)
            self.learner.mark_stored(result.sequence)
            return count

    async def _find_unquotable(
        self, rows: Sequence[InteractionRow], erased: ErasedClient | None
    ) -> list[int]:
        """Find the items that fewer than `min_support` other users chose.

        Users of the withdrawn interactions do not count. If an item is erased, the list is empty:
        its own title goes anyway.
        """
        if erased is not None and get_kind(erased.client.ref) == ClientKind.ITEM:
            return []
        users = Counter(item for _, item in {(row.user, row.item) for row in rows})
        by_count = group_pairs((count, item) for item, count in users.items())
        return sorted(
            [
                item
                for count, refs in by_count.items()
                for item in await self.numbers.find_rarely_chosen(refs, self.min_support + count)
            ]
        )

    async def _subtract(self, request: WithdrawalRequest) -> list[PromotedRepeat]:
        """Subtract the interactions from the numbers view.

        The trust of other users stays, also of those who chose an erased item.

        Returns:
            The repeats that took the place of withdrawn first adoptions.
        """
        rows = request.rows
        erased = None if request.erased is None else request.erased.client.ref
        view = self.numbers.view
        maps = await self.store.get_router_maps()
        subtraction = Subtraction(
            map_to_current_routers(request.weights, rows, maps),
            request.weights.routers,
            maps,
            retrust=erased is None or get_kind(erased) == ClientKind.USER,
        )
        withdrawn = frozenset(row.sequence for row in rows)
        users = sorted({row.user for row in rows if row.sequence <= view.applied_through})
        self.learner.mark_ahead()
        async for histories in load_histories(self.store, self.embedder, users, withdrawn, view):
            for start in range(0, len(histories), USERS_A_TURN):
                await self.numbers.run(
                    subtraction.withdraw, histories[start : start + USERS_A_TURN]
                )
        await self.numbers.run(subtraction.finish, erased, request.erased_refs)
        return subtraction.promoted

    async def _commit(
        self,
        lease: Lease,
        barrier: StagedCheckpoint,
        changes: TextChanges,
        promoted: Sequence[PromotedRepeat],
        finder: TextChangeFinder,
    ) -> CommittedWithdrawal:
        """Commit; find the changes again if newer texts or events came meanwhile."""
        for attempt in range(ATTEMPTS):
            withdrawal = _build_withdrawal(finder.request, promoted, changes)
            try:
                result = await self.store.withdraw(lease, withdrawal, barrier)
            except VersionClash:
                if attempt == ATTEMPTS - 1:
                    raise
                retired = finder.request.erased_refs
                finder.request = await self._find_orphans(finder.request)
                if stay := retired - finder.request.erased_refs:
                    await self.numbers.run(NumbersView.readmit_items, map(index_of, stay))
                    whole = await self.numbers.run(take_checkpoint, True)
                    barrier = await self.store.stage_checkpoint(lease, whole)
                changes = await finder.find()
            else:
                self.learner.mark_stored(result.sequence)
                return CommittedWithdrawal(result, changes, finder.request.erased)
        raise AssertionError("unreachable")

    async def _find_orphans(self, request: WithdrawalRequest) -> WithdrawalRequest:
        """Find anew which items go with an erased client."""
        if request.erased is None:
            return request
        orphans = await self.store.find_orphans(request.erased.client.ref)
        clients = await self.store.get_clients(orphans)
        return replace(request, erased=replace(request.erased, orphans=clients))

    async def publish(self, withdrawn: CommittedWithdrawal) -> None:
        """Bring the vector index and the view's profile vectors up to date.

        The graph is right without this: changes that fail here stay in the outbox.
        """
        changes, erased = withdrawn.changes, withdrawn.erased
        deleted: dict[Collection, Sequence[int | str]] = {
            Collection.ATTRIBUTES: sorted(changes.unheld)
        }
        if erased is None:
            self.vectors.forget([], changes.unheld, frozenset())
        else:
            by_kind = group_pairs((COLLECTIONS[get_kind(ref)], ref) for ref in erased.erased_refs)
            deleted |= by_kind
            self.vectors.forget(erased.erased_refs, changes.unheld, erased.names)
        await self.vectors.publish(changes.next_texts)
        try:
            await self.index_maintenance.follow_withdrawal(
                deleted,
                [
                    IndexChange(Collection.ROUTERS, message.router, message.version, message.round)
                    for message in changes.messages
                ],
            )
        except Exception as error:
            log.warning(
                "the withdrawal at sequence %d could not be written to the vector index and will be"
                " tried again: %s",
                withdrawn.result.sequence,
                error,
            )


def _build_withdrawal(
    request: WithdrawalRequest,
    promoted: Sequence[PromotedRepeat],
    changes: TextChanges,
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
        recounted=list(changes.recounted.values()),
        postponed=changes.postponed,
        reports=changes.reports,
        words=changes.hidden,
    )
    if erased is None:
        return retraction
    client = erased.client
    return replace(
        retraction,
        kind=EntryKind.ERASURE,
        refs=(client.ref,),
        erased=client.ref,
        orphans=erased.erased_refs[1:],
        unmapped=erased.names,
        words=changes.hidden.union(one.key.id for one in (client, *erased.orphans)),
    )


def _list_own_rows(request: WithdrawalRequest) -> tuple[list[int], list[int]]:
    """Return rows of users and items whose own numbers change."""
    refs = {ref for row in request.rows for ref in (row.user, row.item)}
    refs |= request.erased_refs
    users = [index_of(ref) for ref in refs if get_kind(ref) == ClientKind.USER]
    return users, [index_of(ref) for ref in refs if get_kind(ref) == ClientKind.ITEM]
