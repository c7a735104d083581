"""What this process wrote or read of clients last, and that of it which is still the graph's
newest."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from propagation.model.base import value
from propagation.model.clients.client_text import ClientText
from propagation.ports.graph.reason import InteractionReader
from propagation.routing.attribute_extraction import own_attributes
from propagation.workflow.concurrency.lru_cache import CountedLruCache

# Of all clients that are held, some 50 MB of whole texts: profiles grow as they age, so that a
# number of clients bounds nothing. All texts of MovieLens 100k are 36,000. Of what clients say a
# round asks for what changed since the one before.
LINES_HELD, LINES_SAID = 40_960, 20_480
T = TypeVar("T")


@value
class IndexedText:
    """The lines of a client's profile at one version, with their weights, and its own attributes as
    the lines name them, each with the newest sequence it rests on (eq. 1)."""

    ref: int
    version: int
    lines: tuple[str, ...]
    weights: tuple[float, ...]
    attributes: Mapping[str, int]


def indexed_text(text: ClientText) -> IndexedText:
    """Of one version."""
    profile = text.profile
    return IndexedText(
        ref=profile.ref,
        version=profile.version,
        lines=tuple([line.text for line in profile.lines]),
        weights=tuple([line.weight for line in profile.lines]),
        attributes=own_attributes(text),
    )


class ClientTextCache(CountedLruCache[int, T]):
    """By ref, at most `bound` lines. What `find` gives may be older than the graph's text: a commit
    on top of it clashes then. `newest` never is. `version` and `lines`, how many they are, of what
    is held · `made`: what is held of a text."""

    def __init__(
        self,
        store: InteractionReader,
        bound: int,
        version: Callable[[T], int],
        lines: Callable[[T], int],
        made: Callable[[ClientText], T],
    ) -> None:
        super().__init__(bound, lambda held: 1 + lines(held))
        self._store = store
        self._version = version
        self._made = made

    async def load_newest(self, refs: Sequence[int]) -> dict[int, T]:
        """Of each client; only the versions of what is held are read."""
        versions = await self._store.text_versions(refs)
        found = {
            ref: held
            for ref, held in self.find(refs).items()
            if self._version(held) == versions.get(ref, 0)
        }
        stale = [ref for ref in refs if ref not in found]
        loaded = await self._store.load_texts(stale) if stale else {}
        return {ref: found[ref] if ref in found else self._made(loaded[ref]) for ref in refs}


def client_text_cache(store: InteractionReader) -> ClientTextCache[ClientText]:
    """Whole texts: what reasoning goes on with."""
    return ClientTextCache(
        store, LINES_HELD, lambda text: text.profile.version, _lines_of, lambda text: text
    )


def indexed_text_cache(store: InteractionReader) -> ClientTextCache[IndexedText]:
    """What clients say: what rounds perceive."""
    return ClientTextCache(
        store, LINES_SAID, lambda said: said.version, lambda said: len(said.lines), indexed_text
    )


def _lines_of(text: ClientText) -> int:
    return len(text.profile.lines) + len(text.filter_memory.rules)
