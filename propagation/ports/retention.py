"""Retention: what is old and cited by nothing may go (DESIGN, "State")."""

from typing import Protocol


class RetentionStore(Protocol):
    async def prune(self, before: int, limit: int) -> int:
        """Drop at most `limit` rows of versions, edges, messages, merges and gradients whose life ended before a
        sequence; how many were dropped, 0 when nothing is left to drop. Never dropped: a client's current version, a
        router's current version, what a line cited at `before` or since, a client's first edge, interactions with their weights.
        `oldest_kept` moves to `before` with the first call."""

    async def oldest_kept(self) -> int:
        """The sequence from which on time travel answers; 0 while nothing was dropped."""
