"""The record commit (durable, then acknowledged), the log that it writes, and the clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from propagation.model.clients.client import (
    Client,
    ClientChange,
    ClientKey,
    ClientKind,
    ClientOutcome,
)
from propagation.model.interactions.interaction import NewInteraction, RecordOutcome
from propagation.model.interactions.log import LogEntry, LogSlice


class ClientStore(Protocol):
    async def find_refs(self, keys: Sequence[ClientKey]) -> Sequence[int | None]:
        """The ref of each key; None where the graph has no such client."""

    async def find_keys(self, refs: Sequence[int]) -> Sequence[ClientKey | None]:
        """The key of each ref; None where the graph has no such client. Cheaper than `get_clients`."""

    async def get_clients(self, refs: Sequence[int], as_of: int | None = None) -> Sequence[Client]:
        """The clients in the order of `refs`; refs that are unknown are left out. With `as_of`, as
        they were at that sequence (what learn reads, so that a replay reads the same); one that is
        newer comes as it was first."""

    async def scan_clients(self, kind: ClientKind, after_ref: int, limit: int) -> Sequence[Client]:
        """Clients of one kind with ref > after_ref in ref order: the way to walk a whole catalogue."""

    async def count_clients(self, kind: ClientKind) -> int:
        """How many refs of this kind were ever given: the length of its arrays."""


@dataclass(frozen=True)
class RecordResult:
    """Outcomes in the order of the events, and the refs of clients that were created on the way, by
    (kind, id)."""

    outcomes: Sequence[RecordOutcome]
    created: Mapping[tuple[int, str], int]


class RecordStore(Protocol):
    async def upsert_clients(self, changes: Sequence[ClientChange]) -> Sequence[ClientOutcome]:
        """All changes in one commit. Changes of one client apply in order. Same content twice
        changes nothing."""

    async def record(self, events: Sequence[NewInteraction], *, auto_create: bool) -> RecordResult:
        """All events in one commit, sequences in their order, directly after one another. The
        caller's event id decides: a repeat of equal content hash is DUPLICATE with the first one's
        sequence, another hash is CONFLICT (within one call too). Unknown users, items and negatives
        are created where `auto_create`, else said."""

    async def read_log(self, after: int, limit: int) -> LogSlice:
        """Committed entries with sequence > after, at most `limit` of them, in order, without gaps."""

    async def read_entries(self, after: int, through: int) -> Sequence[LogEntry]:
        """Of the log's entries with after < sequence <= through those that are no interaction, in
        order."""

    async def recorded_through(self) -> int:
        """The last sequence committed."""

    async def sequence_at(self, time_ms: int) -> int:
        """The last sequence committed at or before a time (milliseconds since 1970); 0 before the
        first. Commit times never go back, whatever the clock does."""
