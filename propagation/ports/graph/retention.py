"""Retention: what is old and cited by nothing may go (DESIGN, "State")."""

from typing import Protocol


class RetentionStore(Protocol):
    async def prune(self, before: int, limit: int) -> int | None:
        """One small step of a run: look at something, or drop at most `limit` rows (of 1, two) of
        versions, edges, messages, merges and gradients whose life ended before a sequence; how many
        were dropped, None when nothing is left to drop. One step at a time. Never dropped: a
        client's current version, a router's current version, what a line cited at `before` or
        since, a client's first edge, interactions with their weights. `oldest_kept` moves to
        `before` with the first call."""

    async def oldest_kept(self) -> int:
        """The sequence from which on time travel answers; 0 while nothing was dropped."""
