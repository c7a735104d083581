"""Everything about clients that this process keeps in memory.

It is gathered here, so that a client or a text can be dropped everywhere at once.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from propagation.model import ClientKind, EntryKind, LogEntry, get_kind, index_of
from propagation.workflow.views.catalogue import Catalogue
from propagation.workflow.views.pending_events import PendingEvents

ERASING = (EntryKind.ERASURE, EntryKind.ORPHANS)
"""Kinds of entries whose clients are gone."""


class TextCache(Protocol):
    """A cache of clients' texts."""

    def forget(self, refs: Sequence[int], /) -> None:
        """Drop the texts of these clients."""


class ClientMemory:
    """The catalogue, the pending events and every cache of texts."""

    def __init__(
        self, catalogue: Catalogue, pending_events: PendingEvents, caches: Sequence[TextCache]
    ) -> None:
        self.catalogue = catalogue
        self.pending_events = pending_events
        self._caches = caches

    def forget_texts(self, refs: Iterable[int]) -> None:
        """Drop cached texts: another process, or a withdrawal, wrote newer ones."""
        refs = list(refs)
        for cache in self._caches:
            cache.forget(refs)

    def forget_client(self, ref: int) -> None:
        """Drop everything about a client that any process has erased."""
        self.forget_texts([ref])
        if get_kind(ref) == ClientKind.ITEM:
            self.catalogue.forget(index_of(ref))
        else:
            self.pending_events.forget([index_of(ref)])

    def take(self, entries: Sequence[LogEntry]) -> None:
        """Drop the clients that newly learned log entries erase."""
        for ref in list_erased_clients(entries):
            self.forget_client(ref)


def list_erased_clients(entries: Sequence[LogEntry]) -> list[int]:
    """Return the clients that these entries erase."""
    return [ref for entry in entries if entry.kind in ERASING for ref in entry.refs]
