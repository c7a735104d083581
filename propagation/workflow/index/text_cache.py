"""Caches of client texts, and of other values by key."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from cachetools import LRUCache

from propagation.model import ClientText, value
from propagation.ports import InteractionReader
from propagation.routing import list_catalogue_attributes, list_own_attributes

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Values by key.

    The least recently used values are dropped once all together exceed the capacity.
    """

    def __init__(self, capacity: int, weigh: Callable[[V], int] = lambda value: 1) -> None:
        """Create an empty cache.

        Args:
            capacity: The most that all values may weigh together, at least 1. A value that weighs
                more counts as the whole capacity.
            weigh: Returns the weight of a value.
        """
        self._values: LRUCache[K, V] = LRUCache(
            capacity, getsizeof=lambda value: min(weigh(value), capacity)
        )

    def find(self, keys: Iterable[K]) -> dict[K, V]:
        """Return the values of those keys that are cached."""
        return {key: value for key in keys if (value := self._values.get(key)) is not None}

    def put(self, key: K, value: V) -> None:
        """Store a value."""
        self._values.pop(key, None)  # else room would be made for the old and the new value
        self._values[key] = value

    def put_all(self, values: Mapping[K, V]) -> None:
        """Store several values."""
        for key, each in values.items():
            self.put(key, each)

    def forget(self, keys: Iterable[K]) -> None:
        """Drop the values of these keys."""
        for key in keys:
            self._values.pop(key, None)


# Capacities are counted in lines, because profiles grow as they age. The whole texts take some
# 50 MB. All texts of MovieLens 100k have 36,000 lines. Rounds need fewer: they read only the texts
# that changed since the last one.
TEXT_LINES, INDEXED_LINES = 40_960, 20_480


@value
class IndexedText:
    """A client's text, as the index and the numbers view need it.

    Attributes:
        version: Version of the profile.
        lines: Texts of the profile's lines.
        weights: Weights of these lines.
        attributes: The client's own attributes, as the lines name them, each with the newest
            sequence on which it rests (eq. 1).
        catalogue: Those of them that the client's own description names.
    """

    ref: int
    version: int
    lines: tuple[str, ...]
    weights: tuple[float, ...]
    attributes: Mapping[str, int]
    catalogue: frozenset[str]


def get_indexed_text(text: ClientText) -> IndexedText:
    """Extract from a text what the index and the view need."""
    profile = text.profile
    return IndexedText(
        ref=profile.ref,
        version=profile.version,
        lines=tuple([line.text for line in profile.lines]),
        weights=tuple([line.weight for line in profile.lines]),
        attributes=list_own_attributes(text),
        catalogue=list_catalogue_attributes(text),
    )


class ClientTextCache(LruCache[int, V]):
    """LRU cache by client, bounded by the number of lines.

    A text that `find` returns may be older than the graph's; a commit on top of it then clashes.
    Texts that `load_newest` returns are the graph's newest.
    """

    def __init__(
        self,
        store: InteractionReader,
        capacity: int,
        version: Callable[[V], int],
        count_lines: Callable[[V], int],
        convert: Callable[[ClientText], V],
    ) -> None:
        """Create an empty cache.

        Args:
            store: Where missing texts are read.
            capacity: The most lines.
            version: Returns the version of a cached value.
            count_lines: Returns how many lines a cached value has.
            convert: Makes a cached value from a text.
        """
        super().__init__(capacity, lambda cached: 1 + count_lines(cached))
        self._store = store
        self._version = version
        self._convert = convert

    async def load_newest(self, refs: Sequence[int]) -> dict[int, V]:
        """Return the newest text of each client.

        For a cached text, only the version is read from the store.
        """
        versions = await self._store.get_text_versions(refs)
        current = {
            ref: cached
            for ref, cached in self.find(refs).items()
            if self._version(cached) == versions.get(ref, 0)
        }
        missing = [ref for ref in refs if ref not in current]
        loaded = await self._store.load_texts(missing) if missing else {}
        return {ref: current[ref] if ref in current else self._convert(loaded[ref]) for ref in refs}


def create_client_text_cache(store: InteractionReader) -> ClientTextCache[ClientText]:
    """Create a cache of whole texts, for reasoning and for reads."""
    return ClientTextCache(
        store,
        TEXT_LINES,
        lambda text: text.profile.version,
        lambda text: len(text.profile.lines) + len(text.filter_memory.rules),
        lambda text: text,
    )


def create_indexed_text_cache(store: InteractionReader) -> ClientTextCache[IndexedText]:
    """Create a cache of indexed texts, for the perception of rounds."""
    return ClientTextCache(
        store,
        INDEXED_LINES,
        lambda text: text.version,
        lambda text: len(text.lines),
        get_indexed_text,
    )
