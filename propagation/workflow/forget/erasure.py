"""Erasure of clients, and retraction of events."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from propagation.graph_rules import OwnWords, list_titles
from propagation.model import (
    CitationSearch,
    Client,
    ClientKey,
    ClientKind,
    EventStatus,
    InteractionRow,
    RouterVersion,
)
from propagation.ports import GraphStore
from propagation.workflow.concurrency import Activity, Exclusion
from propagation.workflow.forget.factor_relearning import FactorRelearning
from propagation.workflow.forget.text_changes import ErasedClient, list_own_names
from propagation.workflow.forget.withdrawal import CommittedWithdrawal, Withdrawer
from propagation.workflow.views import ClientMemory, find_ref


@dataclass(frozen=True)
class EventRetraction:
    """Outcome of one event id in a retraction.

    Attributes:
        retracted: This call retracted it.
        before: Its status before this call.
    """

    event_id: str
    retracted: bool
    before: EventStatus


@dataclass(frozen=True)
class RetractionResult:
    """Result of a retraction.

    Attributes:
        events: In the caller's order.
        sequence: Sequence of the log entry; 0 if nothing was retracted.
    """

    events: Sequence[EventRetraction]
    sequence: int = 0


@dataclass(frozen=True)
class ErasureResult:
    """Result of an erasure.

    Attributes:
        client: The client as it was.
        lines_dropped: How many lines the current profiles of other clients lost.
    """

    client: Client
    sequence: int
    events_erased: int
    lines_dropped: int


@dataclass(frozen=True)
class ErasurePreview:
    """What an erasure would do.

    Attributes:
        client: The client as it is.
        sequence: What was recorded when the search began. Later events may change the figures.
        events: How many events would be erased.
        lines: How many lines the current profiles of other clients would lose.
        router_texts: How many texts of routers, present and earlier, would change.
        items_erased: How many items would go with it, because only its events named them.
    """

    client: Client
    sequence: int
    events: int
    lines: int
    router_texts: int
    items_erased: int


def _says_otherwise(after: RouterVersion, before: RouterVersion | None) -> bool:
    """Tell whether the words of a message change, not only its weights."""
    return before is None or (after.name, after.text, after.attributes) != (
        before.name,
        before.text,
        before.attributes,
    )


@dataclass
class Forgetting:
    """Runs one retraction or erasure at a time.

    No other activity changes the same data meanwhile.
    """

    store: GraphStore
    withdrawer: Withdrawer
    relearning: FactorRelearning
    memory: ClientMemory
    exclusion: Exclusion
    _previews: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def wipe_if_due(self) -> None:
        """Wipe traces of erased clients from the database's files, if any.

        Called every night, and at start after the index was compared with the graph.
        """
        async with self.exclusion.run(Activity.ERASE):
            if await self.store.is_wiping_due():
                await self.store.wipe()

    async def retract(self, event_ids: Sequence[str], *, wipe: bool = False) -> RetractionResult:
        """Withdraw events with everything they wrote, in one commit.

        An id that is named twice is retracted once. A later repeat of a retracted event stays a
        duplicate.

        Args:
            wipe: Learn the factors without the events and wipe the database's files now, not in the
                night.

        Raises:
            LeaseLost: Another process learns, evolves or runs a round for too long. With `wipe`,
                the events may be retracted, and only the factors not learned again.
            StoreBusy: The events are retracted, but the files could not be wiped; the same call
                again wipes them.
        """
        await self._check_store()
        if not wipe:
            return await self._retract(event_ids)
        async with self.exclusion.run(Activity.ERASE):
            result = await self._retract(event_ids)
            await self._remove_traces(wipe=True)
        return result

    async def _retract(self, event_ids: Sequence[str]) -> RetractionResult:
        async with self.exclusion.run(Activity.WITHDRAW):
            events: list[EventRetraction] = []
            rows: dict[str, InteractionRow] = {}
            states = await self.store.get_event_states(event_ids)
            for event_id, (status, row) in zip(event_ids, states, strict=True):
                retracted = row is not None and event_id not in rows
                if event_id in rows:
                    status = EventStatus.RETRACTED
                if row is not None:
                    rows[event_id] = row
                events.append(EventRetraction(event_id, retracted, status))
            if not rows:
                return RetractionResult(events)
            withdrawn = await self.withdrawer.withdraw(
                sorted(rows.values(), key=lambda row: row.sequence)
            )
            self._note_withdrawal(withdrawn)
            self.memory.pending_events.drop_withdrawn(
                frozenset(row.sequence for row in rows.values())
            )
            await self.withdrawer.publish(withdrawn)
            return RetractionResult(events, withdrawn.result.sequence)

    async def forget(self, key: ClientKey, *, wipe: bool = False) -> ErasureResult:
        """Erase a client, and everything that rests on its events.

        Its id may then be used for a new client.

        Args:
            wipe: Wipe its traces from the database's files, and learn the factors without its
                events, now, even if that takes longer than seconds; otherwise the factors, and a
                store that needs longer, follow in the night.

        Raises:
            NotFound: The client is unknown.
            LeaseLost: Another process learns, evolves or runs a round for too long. With `wipe`,
                the client may be erased, and only the factors not learned again: the night does it.
            StoreBusy: The client is erased, but the files could not be wiped; the next night
                or start wipes them.

        Source: docs/erasure.md.
        """
        await self._check_store()
        async with self.exclusion.run(Activity.ERASE):
            async with self.exclusion.run(Activity.WITHDRAW):
                erased = await self._build_erased_client(key)
                client = erased.client
                rows = await self.store.get_interactions_of_clients([client.ref])
                withdrawn = await self.withdrawer.withdraw(rows, erased)
                self._note_withdrawal(withdrawn)
                if client.key.kind == ClientKind.USER:
                    self.memory.pending_events.forget([client.key.id])
                for ref in withdrawn.erased.erased_refs if withdrawn.erased else ():
                    self.memory.forget_client(ref)
                await self.withdrawer.publish(withdrawn)
            await self._remove_traces(wipe=wipe)
        result = withdrawn.result
        return ErasureResult(
            client, result.sequence, result.interactions, withdrawn.changes.lines_dropped
        )

    async def preview(self, key: ClientKey) -> ErasurePreview:
        """Say what an erasure would do now; change and stop nothing.

        It takes no locks of other activities: what is written while it searches may count or not.
        One preview runs at a time, because each reads as much as an erasure.

        Raises:
            NotFound: The client is unknown.
        """
        async with self._previews:
            return await self._preview(key)

    async def _preview(self, key: ClientKey) -> ErasurePreview:
        sequence = await self.store.get_recorded_through()
        erased = await self._build_erased_client(key)
        rows = await self.store.get_interactions_of_clients([erased.client.ref])
        changes = await self.withdrawer.find_changes(rows, erased)
        stored = await self.store.get_messages(
            [(message.router, message.version) for message in changes.messages], 1
        )
        return ErasurePreview(
            client=erased.client,
            sequence=sequence,
            events=len(rows),
            lines=changes.lines_dropped,
            router_texts=sum(
                _says_otherwise(message, stored.get((message.router, message.version)))
                for message in changes.messages
            ),
            items_erased=len(erased.orphans),
        )

    async def _remove_traces(self, *, wipe: bool) -> None:
        """Remove traces now: with `wipe` all, else those that take seconds.

        Learning and reasoning may go on meanwhile.
        """
        try:
            if wipe:
                await self.relearning.run_if_due()
        finally:
            if wipe or self.store.wipes_in_seconds:
                await self.store.wipe()

    async def _check_store(self) -> None:
        """Fail now if the store does not answer.

        Each lock may be held by a task that waits for the store, so waiting for all locks would
        take several times as long.
        """
        await self.store.get_last_withdrawal()

    async def _build_erased_client(self, key: ClientKey) -> ErasedClient:
        ref = await find_ref(self.store, key)
        (client,) = await self.store.get_clients([ref])
        texts = await self.store.find_citing_texts([CitationSearch(ref, None)])
        contents = await self.store.get_client_contents([ref])
        names = list_own_names(contents, [stored.text for stored in texts])
        # Other clients may have such a name in another spelling, which a round mapped to it.
        canonical = self.withdrawer.vectors.canonical.targets
        mapped = frozenset(name for name, target in canonical.items() if target in names)
        used = await self.store.find_names_used_by_others(ref, names | mapped)
        shared = used | {canonical[name] for name in used & mapped}
        titles = list_titles(contents).get(ref, frozenset())
        orphans = await self.store.get_clients(await self.store.find_orphans(ref))
        return ErasedClient(client, names, OwnWords(titles, names - shared), orphans)

    def _note_withdrawal(self, withdrawn: CommittedWithdrawal) -> None:
        self.memory.pending_events.note_entry(withdrawn.result.sequence)
        self.memory.forget_texts(text.profile.ref for text in withdrawn.changes.next_texts)
