"""Following other processes: what they commit to this graph reaches this process.

That concerns pending events, profiles' vectors and mapped attributes. The numbers follow in the
learner.
"""

from propagation.ports import Embedder, GraphStore
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.views import ClientMemory

LOG_PART = 10_000
TEXTS_A_STEP = 2_000


class ReplicaSync:
    """Follows other processes, each step from where the last one ended."""

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        vectors: VectorSync,
        memory: ClientMemory,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._embedded_by = embedder.name
        self._vectors = vectors
        self._memory = memory
        self._text = 0

    async def open(self, applied_through: int) -> None:
        """Follow commits from now on.

        Call it before the view and the index are filled.
        """
        self.note_embedder()
        self._text = await self._store.texts_through()
        self._memory.pending_events.drop_learned(applied_through)
        await self._follow_log()

    async def step(self) -> int:
        """Apply new entries of the log, texts and rounds.

        Returns:
            How many there were.
        """
        return await self._follow_log() + await self._follow_texts() + await self._follow_rounds()

    def note_embedder(self) -> None:
        """Note that the view's profiles were all embedded with the present embedder."""
        self._embedded_by = self._embedder.name

    async def follow_embedder(self) -> None:
        """Embed profiles anew if the learner has loaded another epoch's embedder."""
        name = self._embedder.name
        if self._embedded_by == name:
            return
        await self._vectors.canonical.load()
        await self._vectors.fill_view()
        self._embedded_by = name

    async def _follow_log(self) -> int:
        gaps = self._memory.pending_events.gaps(await self._store.recorded_through())
        for after, through in gaps:
            while after < through:
                part = await self._store.read_log(after, min(LOG_PART, through - after))
                self._memory.pending_events.add_log(after, part)
                after = part.through
        return sum(through - after for after, through in gaps)

    async def _follow_texts(self) -> int:
        found = 0
        while page := await self._store.texts_after(self._text, TEXTS_A_STEP):
            newest = {written.ref: written.version for written in page}
            foreign = sorted(
                ref
                for ref, version in newest.items()
                if not self._vectors.has_version(ref, version)
            )
            if foreign:
                self._memory.forget_texts(foreign)
                await self._vectors.apply_remote((await self._store.load_texts(foreign)).values())
            self._text = page[-1].number
            found += len(foreign)
        return found

    async def _follow_rounds(self) -> int:
        last = await self._store.last_round()
        return int(last is not None and await self._vectors.canonical.refresh(last.number))
