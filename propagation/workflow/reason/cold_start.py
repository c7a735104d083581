"""Cold start (RecNet 3.4.3) of new clients.

A new client gets a profile, routers and their messages at once. If the client's text changes
later, the catalogue lines of its profile change, too.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from propagation.model import (
    Client,
    ClientText,
    Edit,
    EntryKind,
    IndexUnavailable,
    LogEntry,
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
    Reasoner,
    texts_read_after,
)
from propagation.reception.merge import Reception, receive
from propagation.routing import RoutingPolicy
from propagation.workflow.concurrency import DESCRIBE_LEASE, Leases
from propagation.workflow.index import get_indexed_text
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.reason.drafting import TextDrafter
from propagation.workflow.reason.interaction import describe_client
from propagation.workflow.settings import WorkflowSettings

PROGRESS = "described_through"
FAILED = "undescribed"
FROM_CATALOGUE = "catalogue"
"""The author of lines that stand in for those of a model."""
CLIENTS_A_STEP = 2_000
CLIENTS_A_SLOT = 20
"""Clients that a model describes before a commit, for each call that it may have in flight.

Fewer would leave slots empty at the end of a commit. More would show no progress of a slow model.
"""
RETRY_SECONDS = 30.0
log = logging.getLogger(__name__)


@dataclass
class ColdStart:
    """Describes clients in the order of the log.

    A client is described after it is learned and before its interactions are reasoned. One process
    describes at a time, so that no answer of the reasoner is paid for twice.

    Attributes:
        changes: How many changes of clients were taken from the log so far.
        described: How many clients this process described.
        seconds: How long that took.
    """

    store: GraphStore
    reasoner: Reasoner
    policy: RoutingPolicy
    vectors: VectorSync
    drafting: TextDrafter[Any]
    settings: WorkflowSettings
    leases: Leases
    _waiting: deque[LogEntry] = field(default_factory=deque)
    _taken_through: int = 0
    _failed: set[int] = field(default_factory=set)
    _retry_at: float = 0.0
    changes: int = 0
    described: int = 0
    seconds: float = 0.0
    _described_of_step: int = 0

    async def open(self, learned_through: int) -> None:
        """Load the clients that are learned and not described yet.

        Args:
            learned_through: The sequence up to which the log is learned.
        """
        self._failed = set(orjson.loads(await self.store.get_blob(FAILED) or b"[]"))
        after = self._taken_through = int(await self.store.get_blob(PROGRESS) or 0)
        self.take(await self.store.read_entries(after, learned_through))

    def take(self, entries: Sequence[LogEntry]) -> None:
        """Queue the clients of log entries that were learned.

        Entries that were taken before are skipped.
        """
        for entry in entries:
            if entry.kind == EntryKind.CLIENTS and entry.sequence > self._taken_through:
                self._waiting.append(entry)
                self._taken_through = entry.sequence
                self.changes += len(entry.refs)

    @property
    def outstanding(self) -> int:
        """How many clients are not described yet."""
        waiting = sum(len(entry.refs) for entry in self._waiting) - self._described_of_step
        return waiting + len(self._failed)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until all are described at this process' pace; None if unknown."""
        return self.outstanding * self.seconds / self.described if self.described else None

    def get_described_through(self, limit: int) -> int:
        """Return the sequence up to which every client is described.

        Args:
            limit: The sequence is at most this one.
        """
        return min(self._waiting[0].sequence - 1, limit) if self._waiting else limit

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
        if not self._waiting and (not self._failed or time.monotonic() < self._retry_at):
            return 0
        async with self.leases.hold(DESCRIBE_LEASE, wait_seconds) as lease:
            await self._follow_others()
            if lease is None:
                return None if self._waiting else 0
            texts = await self._step(lease, welcome)
            # Thousands of clients without text may come before one with text.
            while not texts and self._waiting:
                texts = await self._step(lease, welcome)
        return len(texts)

    async def _follow_others(self) -> None:
        """Skip clients that other processes described; take over their failures."""
        through = int(await self.store.get_blob(PROGRESS) or 0)
        while self._waiting and self._waiting[0].sequence <= through:
            self._waiting.popleft()
        failed = set(orjson.loads(await self.store.get_blob(FAILED) or b"[]"))
        if failed - self._failed:
            self._retry_at = time.monotonic() + RETRY_SECONDS
        self._failed = failed

    async def _step(self, lease: Lease, welcome: bool) -> dict[int, ClientText]:
        """Describe the clients of the next entries.

        If no entry waits, clients on which the reasoner failed are tried again.

        Returns:
            The texts that changed, by client.
        """
        refs: dict[int, None] = {}
        entries_taken = 0
        for entry in self._waiting:
            if refs and len(refs) + len(entry.refs) > CLIENTS_A_STEP:
                break
            refs.update(dict.fromkeys(entry.refs))
            entries_taken += 1
        if not entries_taken:
            if not self._failed or time.monotonic() < self._retry_at:
                return {}
            retried = sorted(self._failed)[:CLIENTS_A_STEP]
            recorded = await self.store.get_recorded_through()
            return await self._describe(lease, retried, recorded, welcome)
        sequence = self._waiting[entries_taken - 1].sequence
        changed: dict[int, ClientText] = {}
        try:
            for part in split_into_batches(list(refs), self._count_clients_a_commit()):
                began = time.monotonic()
                changed |= await self._describe(lease, part, sequence, welcome)
                self.seconds += time.monotonic() - began
                self.described += len(part)
                self._described_of_step += len(part)
            await self.store.put_blob(PROGRESS, str(sequence).encode(), lease)
            for _ in range(entries_taken):
                self._waiting.popleft()
        finally:
            self._described_of_step = 0
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
        clients = {client.ref: client for client in await self.store.get_clients(refs)}
        before = await self.store.load_texts(list(clients))
        failed = self._failed.difference(refs)
        with texts_read_after(last_withdrawal):
            answer = await self._extract([clients[ref] for ref in before])
            own = {
                ref: text
                for (ref, old), part in zip(before.items(), answer.edits, strict=True)
                if (text := self._apply_edits(old, part, failed)) is not old
            }
            await self.vectors.write([get_indexed_text(text) for text in own.values()])
            new = [ref for ref in own if welcome and not before[ref].profile.version]
            receptions = await self._welcome(new, clients, own)
        welcomed = [reception.text for reception in receptions]
        stand_ins = [own[ref] for ref in own if ref in answer.from_catalogue]
        if stand_ins:
            await self.store.commit_texts(stand_ins, (), sequence, last_withdrawal, FROM_CATALOGUE)
        rest = [own[ref] for ref in own if ref not in answer.from_catalogue]
        if rest or welcomed:
            await self.store.commit_texts(
                [*rest, *welcomed],
                [merge for reception in receptions for merge in reception.merged],
                sequence,
                last_withdrawal,
                sum((reception.usage for reception in receptions), answer.usage).author,
            )
        await self.vectors.publish(welcomed)
        await self._save_failed(lease, failed)
        changed = own | {text.profile.ref: text for text in welcomed}
        self.drafting.keep(changed)
        return changed

    async def _save_failed(self, lease: Lease, failed: set[int]) -> None:
        """Store which clients failed, so that they are retried after a restart.

        Thus every change is described in the end.
        """
        if failed:
            self._retry_at = time.monotonic() + RETRY_SECONDS
        if failed != self._failed:
            self._failed = failed
            await self.store.put_blob(FAILED, orjson.dumps(sorted(failed)), lease)

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
