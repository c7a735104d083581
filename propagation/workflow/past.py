"""Time travel: which sequences can be asked for, and what routers and their tables were then (DESIGN, "Guarantees")."""

from datetime import UTC, datetime

from propagation.model.errors import TooNew, TooOld
from propagation.ports.graph import GraphStore


class Past:
    """The past of one graph, between what retention keeps and the newest sequence."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    async def at_sequence(self, sequence: int) -> int:
        """The sequence itself. Raises TooNew, TooOld."""
        newest = await self._store.recorded_through()
        if sequence > newest:
            raise TooNew(str(sequence), newest)
        await self.is_kept(sequence)
        return sequence

    async def at_time(self, time_ms: int, now_ms: int) -> int:
        """The last sequence committed at or before a time (milliseconds since 1970); 0 before the first. Raises TooNew where
        the time is still to come, TooOld."""
        if time_ms > now_ms:
            asked = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat()
            raise TooNew(asked, await self._store.recorded_through())
        sequence = await self._store.sequence_at(time_ms)
        await self.is_kept(sequence)
        return sequence

    async def is_kept(self, sequence: int) -> None:
        """Raises TooOld. Asked again after reading, it says whether retention has dropped something meanwhile."""
        oldest = await self._store.oldest_kept()
        if sequence < oldest:
            raise TooOld(sequence, oldest)
