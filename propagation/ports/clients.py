"""Clients and their ids."""

from collections.abc import Sequence
from typing import Protocol

from propagation.model.client import Client, ClientKey, ClientKind


class ClientStore(Protocol):
    async def find_refs(self, keys: Sequence[ClientKey]) -> Sequence[int | None]:
        """The ref of each key; None where the graph has no such client."""

    async def get_clients(self, refs: Sequence[int]) -> Sequence[Client]:
        """The clients in the order of `refs`; refs that are unknown are left out."""

    async def scan_clients(self, kind: ClientKind, after_ref: int, limit: int) -> Sequence[Client]:
        """Clients of one kind with ref > after_ref in ref order: the way to walk a whole catalogue."""

    async def count_clients(self, kind: ClientKind) -> int:
        """How many refs of this kind were ever given: the length of its arrays."""
