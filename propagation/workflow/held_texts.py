"""Clients' texts that this process wrote or read last, and those of them that are still the graph's newest."""

from collections.abc import Mapping, Sequence

from propagation.model.text import ClientText
from propagation.ports.desk import DeskStore
from propagation.workflow.recent import Recent

TEXTS_HELD = 20_000


class HeldTexts(Recent[int, ClientText]):
    """By ref. What `find` gives may be older than the graph's text: a commit on top of it clashes then. `newest` never is."""

    def __init__(self, store: DeskStore) -> None:
        super().__init__(TEXTS_HELD)
        self._store = store

    async def newest(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        """As `load_texts`, reading only the versions of what is held."""
        versions = await self._store.text_versions(refs)
        held = self.find(refs)
        stale = [ref for ref in refs if ref not in held or held[ref].profile.version != versions.get(ref, 0)]
        loaded = await self._store.load_texts(stale) if stale else {}
        return {ref: loaded[ref] if ref in loaded else held[ref] for ref in refs}
