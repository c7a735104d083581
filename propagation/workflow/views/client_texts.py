"""What this process wrote or read of clients last, and that of it which is still the graph's
newest."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from propagation.model.clients.client_text import ClientText
from propagation.ports.graph.reason import InteractionReader
from propagation.workflow.concurrency.lru_cache import Recent
from propagation.workflow.views.said import Said, said_of

# Of all clients that are held, some 50 MB of whole texts: profiles grow as they age, so that a
# number of clients bounds nothing. All texts of MovieLens 100k are 36,000. Of what clients say a
# round asks for what changed since the one before.
LINES_HELD, LINES_SAID = 40_960, 20_480
T = TypeVar("T")


class Held(Recent[int, T]):
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

    async def newest(self, refs: Sequence[int]) -> dict[int, T]:
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


def held_texts(store: InteractionReader) -> Held[ClientText]:
    """Whole texts: what reasoning goes on with."""
    return Held(store, LINES_HELD, lambda text: text.profile.version, _lines_of, lambda text: text)


def held_said(store: InteractionReader) -> Held[Said]:
    """What clients say: what rounds perceive."""
    return Held(store, LINES_SAID, lambda said: said.version, lambda said: len(said.lines), said_of)


def _lines_of(text: ClientText) -> int:
    return len(text.profile.lines) + len(text.filter_memory.rules)
