"""The clients to describe, in the order of the log."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import orjson

from propagation.model import EntryKind, LogEntry, group_pairs
from propagation.ports import GraphStore, Lease
from propagation.workflow.views import list_erased_clients

PROGRESS = "described_through"
AHEAD = "described_ahead"
FAILED = "undescribed"
RETRY_SECONDS = 30.0


@dataclass
class DescriptionQueue:
    """Keeps which changes of clients are learned and not described yet.

    The graph keeps through which entry all clients are described, which clients of later entries
    are described, too, and on which ones the reasoner failed.

    Attributes:
        entries: Entries of the log with clients that are not described, in order.
        outstanding: Those clients, with the sequence of their newest change.
        failed: Clients on which the reasoner failed.
        taken_through: The sequence up to which entries were taken.
        changes: How many changes of clients were taken from the log so far.
        described: About how many clients this process asked the reasoner.
        seconds: How long that took.
    """

    store: GraphStore
    entries: deque[LogEntry] = field(default_factory=deque)
    outstanding: dict[int, int] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    taken_through: int = 0
    changes: int = 0
    described: int = 0
    seconds: float = 0.0
    _ahead: dict[int, int] = field(default_factory=dict)
    _left: Counter[int] = field(default_factory=Counter)
    _gone: set[int] = field(default_factory=set)
    _retry_at: float = 0.0
    _saving: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def open(self, learned_through: int) -> None:
        """Load the clients that are learned and not described yet.

        Args:
            learned_through: The sequence up to which the log is learned.
        """
        after = self.taken_through = await self._read_progress()
        await self._read_marks()
        self.take(await self.store.read_entries(after, learned_through))

    def take(self, entries: Sequence[LogEntry]) -> None:
        """Queue the clients of log entries that were learned.

        Entries that were taken before are skipped. Erased clients are dropped everywhere: what is
        stored would keep them beside those of the same entry.
        """
        gone = list_erased_clients(entries)
        self._gone.update(gone)
        self._drop_gone()
        for ref in gone:
            self._drop(ref)
        for entry in entries:
            if entry.kind == EntryKind.CLIENTS and entry.sequence > self.taken_through:
                self.entries.append(entry)
                self.taken_through = entry.sequence
                self.changes += len(entry.refs)
                for ref in dict.fromkeys(entry.refs):
                    if self._ahead.get(ref, 0) < entry.sequence:
                        self._drop(ref)
                        self.outstanding[ref] = entry.sequence
                        self._left[entry.sequence] += 1

    async def follow_others(self) -> None:
        """Drop clients that other processes described; take over their failures."""
        failed = self.failed
        self._drop_entries(await self._read_progress())
        await self._read_marks()
        if self.failed - failed:
            self._retry_at = time.monotonic() + RETRY_SECONDS
        for ref, sequence in self._ahead.items():
            if sequence >= self.outstanding.get(ref, sequence + 1):
                self._drop(ref)

    def is_retry_due(self) -> bool:
        """Tell whether failed clients are to be tried again."""
        return bool(self.failed) and time.monotonic() >= self._retry_at

    def note_described(self, covered: Iterable[tuple[int, int]], *, asked: bool = True) -> None:
        """Note clients that were described, or on which the reasoner failed.

        Args:
            covered: For each client the sequence of its newest change before its text was read.
            asked: Whether the reasoner was asked about them.
        """
        for ref, sequence in covered:
            self.described += asked
            self._ahead[ref] = sequence
            if self.outstanding.get(ref, sequence + 1) <= sequence:
                self._drop(ref)

    async def save(self, lease: Lease) -> None:
        """Store how far clients are described; drop finished entries."""
        async with self._saving:
            done = 0
            while self.entries and not self._left[self.entries[0].sequence]:
                done = self.entries[0].sequence
                self._drop_entries(done)
            if done:
                await self.store.put_blob(PROGRESS, str(done).encode(), lease)
            through = self.entries[0].sequence - 1 if self.entries else self.taken_through
            self._ahead = {
                ref: sequence for ref, sequence in self._ahead.items() if sequence > through
            }
            ahead = group_pairs((sequence, ref) for ref, sequence in self._ahead.items())
            packed = orjson.dumps({str(sequence): refs for sequence, refs in ahead.items()})
            await self.store.put_blob(AHEAD, packed, lease)

    async def save_progress(self, sequence: int, lease: Lease) -> None:
        """Store that all clients of the entries up to `sequence` are described."""
        await self.store.put_blob(PROGRESS, str(sequence).encode(), lease)
        self._drop_entries(sequence)

    async def save_failures(self, tried: Collection[int], failed: set[int], lease: Lease) -> None:
        """Store on which of the tried clients the reasoner failed.

        They are retried also after a restart, so every change is described in the end.
        """
        if failed:
            self._retry_at = time.monotonic() + RETRY_SECONDS
        now_failed = self.failed.difference(tried) | failed
        if now_failed != self.failed:
            self.failed = now_failed
            await self.store.put_blob(FAILED, orjson.dumps(sorted(now_failed)), lease)

    async def _read_marks(self) -> None:
        ahead = orjson.loads(await self.store.get_blob(AHEAD) or b"{}")
        self._ahead = {ref: int(sequence) for sequence, refs in ahead.items() for ref in refs}
        self.failed = set(orjson.loads(await self.store.get_blob(FAILED) or b"[]"))
        self._drop_gone()

    def _drop_gone(self) -> None:
        """Drop the marks of erased clients; the next `save` stores the rest."""
        for ref in self._gone:
            self._ahead.pop(ref, None)
        self.failed -= self._gone

    async def _read_progress(self) -> int:
        return int(await self.store.get_blob(PROGRESS) or 0)

    def _drop_entries(self, through: int) -> None:
        while self.entries and self.entries[0].sequence <= through:
            for ref in self.entries.popleft().refs:
                if self.outstanding.get(ref, through + 1) <= through:
                    self._drop(ref)

    def _drop(self, ref: int) -> None:
        sequence = self.outstanding.pop(ref, None)
        if sequence is not None:
            self._left[sequence] -= 1
            if not self._left[sequence]:
                del self._left[sequence]
