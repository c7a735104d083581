"""Cold start (RecNet 3.4.3) of new clients.

A new client gets a profile, routers and their messages at once. If the client's text changes
later, the catalogue lines of its profile change, too.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from propagation.model import (
    Client,
    ClientText,
    Edit,
    IndexUnavailable,
    ReasonerFailed,
    ReasonerUnavailable,
    RouterVersion,
    group_pairs,
    split_into_batches,
)
from propagation.ports import (
    AnswerPart,
    ExtractAnswer,
    GraphStore,
    Lease,
    ModelWork,
    Reasoner,
    asking_for,
    texts_read_after,
)
from propagation.reception.merge import Reception, receive
from propagation.routing import RoutingPolicy
from propagation.workflow.concurrency import DESCRIBE_LEASE, Leases
from propagation.workflow.index import get_indexed_text
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.reason.description_queue import DescriptionQueue
from propagation.workflow.reason.description_sweep import DescriptionSweep
from propagation.workflow.reason.drafting import TextDrafter
from propagation.workflow.reason.interaction import describe_client
from propagation.workflow.settings import WorkflowSettings

FROM_CATALOGUE = "catalogue"
"""The author of lines that stand in for those of a model."""
CLIENTS_A_STEP = 2_000
CLIENTS_A_SLOT = 20
"""Clients that a model describes before a commit, for each call that it may have in flight.

Fewer would leave slots empty at the end of a commit. More would show no progress of a slow model.
"""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Extracted:
    """Descriptions of clients (eq. 1), not committed yet.

    Attributes:
        before: The clients' texts so far.
        own: The texts that the description changes.
        failed: Clients on which the reasoner failed.
    """

    clients: Mapping[int, Client]
    before: Mapping[int, ClientText]
    own: dict[int, ClientText]
    failed: set[int]
    answer: ExtractAnswer

    def list_new(self) -> list[int]:
        """List the clients that had no text before."""
        return [ref for ref in self.own if not self.before[ref].profile.version]


@dataclass
class ColdStart:
    """Describes clients in the order of the log.

    A client is described after it is learned. An offline reasoner describes it before the next
    interaction is reasoned. Descriptions of a model may take hours, so interactions go on beside
    them (`sweep`). One process describes at a time, so that no answer of the reasoner is paid for
    twice.
    """

    store: GraphStore
    reasoner: Reasoner
    policy: RoutingPolicy
    vectors: VectorSync
    drafting: TextDrafter[Any]
    settings: WorkflowSettings
    leases: Leases
    queue: DescriptionQueue = field(init=False)
    sweep: DescriptionSweep = field(init=False)
    _uncommitted_from: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.queue = DescriptionQueue(self.store)
        self.sweep = DescriptionSweep(
            self.store, self.queue, self.leases, self.reasoner, self._describe_and_publish
        )

    @property
    def outstanding(self) -> int:
        """How many clients are not described yet."""
        return len(self.queue.outstanding.keys() | self.queue.failed)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until all are described at this process' pace; None if unknown."""
        pace = self.queue.seconds / self.queue.described if self.queue.described else None
        return self.outstanding * pace if pace else None

    def get_described_through(self, limit: int) -> int:
        """Return the sequence up to which every client is described.

        Args:
            limit: The sequence is at most this one.
        """
        entries = self.queue.entries
        return min(entries[0].sequence - 1, limit) if entries else limit

    def find_round_end(self, reasoned: int) -> int:
        """Find the sequence up to which a round may cover texts.

        Descriptions beside interactions may take hours, and rounds do not wait for them: they are
        committed at the end of what is reasoned, where a later round finds them. Other descriptions
        are committed at their client's entry, so a round ends before it.

        Args:
            reasoned: The sequence up to which interactions are reasoned, just read.
        """
        if not self.sweep.is_describing:
            return self.get_described_through(reasoned)
        return min(sequence - 1 for sequence in (reasoned, *self._uncommitted_from))

    async def describe(self, *, welcome: bool = True, wait_seconds: float = 0.0) -> int | None:
        """Describe the next clients that have text.

        Args:
            welcome: Whether new clients merge their routers' newest messages at once.
            wait_seconds: How long to wait for another process that describes clients.

        Returns:
            How many texts changed; None if another process describes these clients.

        Raises:
            VersionClash: Another writer was first; the same clients are described again later.
            LeaseLost: Another process took over; the clients are described again later.
        """
        await self.sweep.settle()
        if not self.queue.entries and not self.queue.is_retry_due():
            return 0
        async with self.leases.hold(DESCRIBE_LEASE, wait_seconds) as lease:
            await self.queue.follow_others()
            if lease is None:
                return None if self.queue.entries else 0
            with asking_for(ModelWork.DESCRIPTION):
                texts = await self._step(lease, welcome)
                # Thousands of clients without text may come before one with text.
                while not texts and self.queue.entries:
                    texts = await self._step(lease, welcome)
        return len(texts)

    async def _step(self, lease: Lease, welcome: bool) -> dict[int, ClientText]:
        """Describe the clients of the next entries.

        If no entry waits, clients on which the reasoner failed are tried again.

        Returns:
            The texts that changed, by client.
        """
        refs: dict[int, None] = {}
        sequence = 0
        for entry in self.queue.entries:
            if refs and len(refs) + len(entry.refs) > CLIENTS_A_STEP:
                break
            refs.update((ref, None) for ref in entry.refs if ref in self.queue.outstanding)
            sequence = entry.sequence
        if not sequence:
            if not self.queue.is_retry_due():
                return {}
            retried = sorted(self.queue.failed)[:CLIENTS_A_STEP]
            recorded = await self.store.get_recorded_through()
            return await self._describe(lease, retried, recorded, welcome)
        changed: dict[int, ClientText] = {}
        for part in split_into_batches(list(refs), self._count_clients_a_commit()):
            began = time.monotonic()
            changed |= await self._describe(lease, part, sequence, welcome)
            self.queue.note_described([(ref, sequence) for ref in part])
            self.queue.seconds += time.monotonic() - began
        await self.queue.save_progress(sequence, lease)
        return changed

    def _count_clients_a_commit(self) -> int:
        """Return how many clients are described before they are committed."""
        if not self.reasoner.asks_model:
            return CLIENTS_A_STEP
        return CLIENTS_A_SLOT * self.reasoner.concurrency

    async def _describe(
        self, lease: Lease, refs: Sequence[int], sequence: int, welcome: bool
    ) -> dict[int, ClientText]:
        last_withdrawal = await self.store.get_last_withdrawal()
        with texts_read_after(last_withdrawal):
            found = await self._read_and_extract(refs)
            await self.vectors.write([get_indexed_text(text) for text in found.own.values()])
            new = found.list_new() if welcome else []
            receptions = await self._welcome(new, found.clients, found.own)
        await self._commit(found, receptions, sequence, last_withdrawal)
        welcomed = [reception.text for reception in receptions]
        await self.vectors.publish(welcomed)
        await self.queue.save_failures(refs, found.failed, lease)
        changed = found.own | {text.profile.ref: text for text in welcomed}
        self.drafting.keep(changed)
        return changed

    async def _describe_and_publish(self, refs: Sequence[int], sequence: int) -> set[int]:
        """Describe clients beside interactions, and commit them.

        Only committed texts are taken into the index: it may be compared with the graph meanwhile.

        Args:
            sequence: That of the clients' newest change.

        Returns:
            The clients on which the reasoner failed.
        """
        last_withdrawal = await self.store.get_last_withdrawal()
        with texts_read_after(last_withdrawal):
            found = await self._read_and_extract(refs)
            if any(found.before[ref].profile.version for ref in found.own):
                # Interactions may have written the texts at later sequences already.
                sequence = await self.store.get_recorded_through()
            async with self._reserve_commit_sequence(sequence) as commit_sequence:
                await self._commit(found, (), commit_sequence, last_withdrawal)
            self.drafting.keep(found.own)
            await self.vectors.publish([*found.own.values()])
            receptions = await self._welcome(found.list_new(), found.clients, found.own)
        if receptions:
            welcomed = {reception.text.profile.ref: reception.text for reception in receptions}
            async with self._reserve_commit_sequence(commit_sequence) as commit_sequence:
                await self._commit(
                    replace(found, own={}), receptions, commit_sequence, last_withdrawal
                )
            self.drafting.keep(welcomed)
            await self.vectors.publish([*welcomed.values()])
        return found.failed

    @asynccontextmanager
    async def _reserve_commit_sequence(self, least: int) -> AsyncIterator[int]:
        """Find the sequence of texts that the body commits.

        It is the end of what is reasoned, or `least`. While this process describes, no round that
        begins meanwhile covers it, so a later one sees the texts. After a failed attempt, when
        nothing else is described, a round may: then the next interaction of the client shows it.
        """
        earliest = await self.store.get_reasoned_through()
        self._uncommitted_from.append(earliest)
        try:
            # Read again: a round may have begun before the line above.
            yield max(least, await self.store.get_reasoned_through())
        finally:
            self._uncommitted_from.remove(earliest)

    async def _read_and_extract(self, refs: Sequence[int]) -> Extracted:
        """Read clients and their texts, and ask for their catalogue lines."""
        clients = {client.ref: client for client in await self.store.get_clients(refs)}
        before = await self.store.load_texts(list(clients))
        failed = set[int]()
        answer = await self._extract([clients[ref] for ref in before])
        own = {
            ref: text
            for (ref, old), part in zip(before.items(), answer.edits, strict=True)
            if (text := self._apply_edits(old, part, failed)) is not old
        }
        return Extracted(clients, before, own, failed, answer)

    async def _commit(
        self,
        found: Extracted,
        receptions: Sequence[Reception],
        sequence: int,
        last_withdrawal: int,
    ) -> None:
        """Commit descriptions and receptions."""
        welcomed = [reception.text for reception in receptions]
        from_catalogue = found.answer.from_catalogue
        stand_ins = [text for ref, text in found.own.items() if ref in from_catalogue]
        if stand_ins:
            await self.store.commit_texts(stand_ins, (), sequence, last_withdrawal, FROM_CATALOGUE)
        rest = [text for ref, text in found.own.items() if ref not in from_catalogue]
        if rest or welcomed:
            await self.store.commit_texts(
                [*rest, *welcomed],
                [merge for reception in receptions for merge in reception.merged],
                sequence,
                last_withdrawal,
                sum((reception.usage for reception in receptions), found.answer.usage).author,
            )

    async def _extract(self, clients: Sequence[Client]) -> ExtractAnswer:
        """Ask for the catalogue lines of clients (eq. 1), in order.

        Returns:
            Lines or a failure for each client, none for a client without text.
        """
        try:
            return await self.reasoner.extract(clients)
        except ReasonerUnavailable:
            raise
        except ReasonerFailed as error:
            return ExtractAnswer([error if client.has_text else () for client in clients])

    def _apply_edits(
        self, text: ClientText, edits: AnswerPart[Sequence[Edit]], failed: set[int]
    ) -> ClientText:
        if isinstance(edits, ReasonerFailed):
            log.warning(
                "client %d is not described yet and will be tried again: %s",
                text.profile.ref,
                edits,
            )
            failed.add(text.profile.ref)
            return text
        return describe_client(text, edits, self.settings.profile_lines)

    async def _welcome(
        self, refs: Sequence[int], clients: Mapping[int, Client], texts: Mapping[int, ClientText]
    ) -> list[Reception]:
        """Route new clients and merge their routers' newest messages.

        The next round writes the edges.

        Returns:
            Receptions that changed a text; none before the first round, without propagation, or
            while the index does not answer.
        """
        last = await self.store.get_last_round() if self.settings.propagate and refs else None
        if last is None:
            return []
        current = await self.store.get_router_versions(self.vectors.routers)
        try:
            waiting = await self._find_messages(refs, current)
        except IndexUnavailable as error:
            log.warning(
                "%d new clients get their routers' messages after the next round: %s",
                len(refs),
                error,
            )
            return []
        result: list[Reception] = []
        for part in split_into_batches(refs, self.reasoner.concurrency):
            receptions = await asyncio.gather(
                *(
                    self._receive(clients[ref], texts[ref], waiting[ref], last.number)
                    for ref in part
                )
            )
            result += [
                reception
                for ref, reception in zip(part, receptions, strict=True)
                if reception is not None and reception.text is not texts[ref]
            ]
        return result

    async def _receive(
        self, client: Client, text: ClientText, waiting: Sequence[RouterVersion], last: int
    ) -> Reception | None:
        try:
            return await receive(
                self.reasoner,
                client,
                text,
                waiting,
                last,
                self.settings.buffer,
                self.settings.profile_lines,
            )
        except ReasonerFailed as error:
            log.warning(
                "client %d merges its routers' messages with its next interaction: %s",
                client.ref,
                error,
            )
            return None

    async def _find_messages(
        self, refs: Sequence[int], current: Sequence[RouterVersion]
    ) -> dict[int, list[RouterVersion]]:
        """Find the current messages of each client's routers.

        A client's messages are ordered by round, newest first, then by score, largest first.
        """
        table = await self.policy.route(refs, current)
        versions = {version.router: version for version in current}
        routers = group_pairs(
            (ref, (-versions[router].round, -score, router))
            for (router, ref), score in table.scores.items()
            if router in versions
        )
        return {
            ref: [versions[router] for _, _, router in sorted(routers.get(ref, ()))] for ref in refs
        }
