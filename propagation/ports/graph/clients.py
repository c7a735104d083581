"""Clients and their ids."""

from collections.abc import Sequence
from typing import Protocol

from propagation.model.clients.client import Client, ClientKey, ClientKind


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
