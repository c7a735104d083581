"""What a client's text says, as the index and the view take it."""

from collections.abc import Mapping, Sequence

from propagation.model.text import ClientText
from propagation.model.value import value
from propagation.ports.desk import DeskStore
from propagation.routing.perception import own_attributes
from propagation.workflow.recent import Recent

SAID_HELD = 20_000


@value
class Said:
    """The lines of a client's profile at one version, with their weights, and its own attributes as the lines name them, each with
    the newest sequence it rests on (eq. 1)."""

    ref: int
    version: int
    lines: tuple[str, ...]
    weights: tuple[float, ...]
    attributes: Mapping[str, int]


def said_of(text: ClientText) -> Said:
    """Of one version."""
    profile = text.profile
    return Said(ref=profile.ref, version=profile.version, lines=tuple([line.text for line in profile.lines]),
                weights=tuple([line.weight for line in profile.lines]), attributes=own_attributes(text))


class HeldSaid(Recent[int, Said]):
    """What clients said last, by ref, as this process' commits and rounds came to know it; `newest` is never old."""

    def __init__(self, store: DeskStore) -> None:
        super().__init__(SAID_HELD)
        self._store = store

    async def newest(self, refs: Sequence[int]) -> dict[int, Said]:
        """As it is stored: of what is held only the versions are read."""
        versions = await self._store.text_versions(refs)
        found = {ref: said for ref, said in self.find(refs).items() if said.version == versions.get(ref, 0)}
        stale = [ref for ref in refs if ref not in found]
        if stale:
            found.update({ref: said_of(text) for ref, text in (await self._store.load_texts(stale)).items()})
        return {ref: found[ref] for ref in refs}
