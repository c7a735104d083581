"""Changes that other processes commit to the graph, applied to this process.

They are pending events, profiles' vectors and mapped attributes. The learner follows the numbers.
"""

from dataclasses import dataclass

from propagation.ports import Embedder, GraphStore
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.views import ClientMemory


@dataclass
class ReplicaSync:
    """Follows other processes, each step from where the last one ended."""

    store: GraphStore
    embedder: Embedder
    vectors: VectorSync
    memory: ClientMemory
    _embedded_by: str = ""
    _text: int = 0

    async def open(self, applied_through: int) -> None:
        """Follow commits from now on.

        Call it before the view and the index are filled.

        Args:
            applied_through: The sequence up to which no event is pending.
        """
        self.note_embedder()
        self._text = await self.store.get_texts_through()
        self.memory.pending_events.drop_learned(applied_through)
        await self._follow_log()

    async def step(self) -> int:
        """Apply new entries of the log, texts and rounds.

        Returns:
            How many changes were applied.
        """
        followed = await self._follow_log() + await self._follow_texts()
        if await self.vectors.canonical.refresh():
            followed += 1
        return followed

    def note_embedder(self) -> None:
        """Note that the view's profiles were all embedded with the present embedder."""
        self._embedded_by = self.embedder.name

    async def follow_embedder(self) -> None:
        """Embed profiles anew if the learner has loaded another epoch's embedder."""
        name = self.embedder.name
        if self._embedded_by == name:
            return
        await self.vectors.canonical.load()
        await self.vectors.fill_view()
        self._embedded_by = name

    async def _follow_log(self) -> int:
        gaps = self.memory.pending_events.find_gaps(await self.store.get_recorded_through())
        for after, through in gaps:
            while after < through:
                part = await self.store.read_log(after, min(10_000, through - after))
                self.memory.pending_events.add_log(after, part)
                after = part.through
        return sum(through - after for after, through in gaps)

    async def _follow_texts(self) -> int:
        found = 0
        while page := await self.store.get_texts_after(self._text, limit=2_000):
            newest = {written.ref: written.version for written in page}
            foreign = sorted(
                ref for ref, version in newest.items() if not self.vectors.has_version(ref, version)
            )
            if foreign:
                self.memory.forget_texts(foreign)
                await self.vectors.apply_remote((await self.store.load_texts(foreign)).values())
            self._text = page[-1].number
            found += len(foreign)
        return found
