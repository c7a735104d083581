"""The record commit, the log that it writes, and the clients.

An interaction is durable before it is acknowledged.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from propagation.model import (
    Client,
    ClientChange,
    ClientKey,
    ClientKind,
    ClientOutcome,
    EntryKind,
    LogEntry,
    LogSlice,
    NewInteraction,
    RecordOutcome,
)


class ClientStore(Protocol):
    """Clients by ref and by key.

    A ref is the graph's number. A key is a kind and the caller's id.
    """

    async def find_refs(self, keys: Sequence[ClientKey]) -> Sequence[int | None]:
        """Return the ref of each key, in order.

        Returns:
            One ref for each key; None for an unknown client.
        """

    async def find_keys(self, refs: Sequence[int]) -> Sequence[ClientKey | None]:
        """Return the key of each ref, in order.

        An unknown client has None. This is cheaper than `get_clients`.
        """

    async def get_clients(self, refs: Sequence[int], as_of: int | None = None) -> Sequence[Client]:
        """Return clients in the order of `refs`; unknown ones are left out.

        Args:
            as_of: Return the clients as they were at this sequence, so that a replay of learning
                reads the same content. A client created later is returned as it was at first.
        """

    async def get_client_contents(self, refs: Sequence[int]) -> Sequence[Client]:
        """Return every content of these clients, present and earlier.

        Returns:
            Each content once, by ref, then sequence.
        """

    async def scan_clients(self, kind: ClientKind, after_ref: int, limit: int) -> Sequence[Client]:
        """Return at most `limit` clients of a kind, by ref.

        Args:
            kind: Kind of the clients.
            after_ref: The refs of the clients are greater than this one.
            limit: How many clients at most.
        """

    async def count_clients(self, kind: ClientKind) -> int:
        """Count the clients of a kind; erased ones do not count."""

    async def find_clients_by_words(
        self, kind: ClientKind, words: Sequence[str], after_ref: int, limit: int
    ) -> Sequence[int]:
        """Find clients by present ids, titles, attributes and categories.

        Each word must begin one of the client's words (graph_rules/search_words.py).

        Args:
            words: Result of `split_words`; at least one.
            after_ref: The refs of the clients are greater than this one.
            limit: How many clients at most.

        Returns:
            Their refs, ascending.
        """


@dataclass(frozen=True)
class RecordResult:
    """Result of a record commit.

    Attributes:
        outcomes: One for each event, in order.
        created: Refs of clients that the commit created, by (kind, id).
    """

    outcomes: Sequence[RecordOutcome]
    created: Mapping[tuple[int, str], int]


class RecordStore(Protocol):
    """The log: one global order of all changes.

    It holds everything that can change a number or a text.
    """

    async def upsert_clients(self, changes: Sequence[ClientChange]) -> Sequence[ClientOutcome]:
        """Create or change clients in one commit.

        Changes of one client apply in order; a change to what is already stored changes nothing.

        Returns:
            One outcome for each change, in order.
        """

    async def record(self, events: Sequence[NewInteraction], *, auto_create: bool) -> RecordResult:
        """Store events durably in one commit, with consecutive sequences in their order.

        The event id decides, also within one call: a repeat with the same content hash is a
        DUPLICATE with the first one's sequence; one with another hash is a CONFLICT.

        Args:
            auto_create: Create unknown users, items and negatives; otherwise their events get an
                UNKNOWN outcome.
        """

    async def read_log(self, after: int, limit: int) -> LogSlice:
        """Return at most `limit` committed entries with sequence > after, in order.

        The slice has no gaps except for withdrawn interactions.
        """

    async def read_entries(self, after: int, through: int) -> Sequence[LogEntry]:
        """Return the log entries that are no interactions, in order.

        Args:
            after: The sequences of the entries are greater than this one.
            through: The last sequence to read.
        """

    async def get_entries_before(
        self, sequence: int, kinds: Collection[EntryKind], limit: int
    ) -> Sequence[LogEntry]:
        """Return at most `limit` entries of these kinds, newest first.

        Args:
            sequence: The sequences of the entries are smaller than this one.
            kinds: Kinds other than CLIENTS.
        """

    async def get_recorded_through(self) -> int:
        """Return the last committed sequence; 0 for an empty log."""

    async def get_sequence_at(self, time_ms: int) -> int:
        """Return the last sequence committed at or before a time.

        It is 0 before the first commit.

        Commit times never go back, whatever the clock does.

        Args:
            time_ms: Milliseconds since 1970.
        """

    async def get_time_of_next(self, after: int) -> int:
        """Return when the first entry above a sequence was committed.

        In milliseconds since 1970; 0 if there is no such entry.
        """
