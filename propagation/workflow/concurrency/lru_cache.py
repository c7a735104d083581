"""LRU cache that counts its hits and misses."""

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K")
V = TypeVar("V")


class CountedLruCache(Generic[K, V]):
    """Values by key; the least recently used are dropped once they exceed the capacity.

    `hits` and `misses` count look-ups since the start.
    """

    def __init__(self, capacity: int, weigh: Callable[[V], int] = lambda value: 1) -> None:
        """Create an empty cache.

        Args:
            capacity: Total weight of the values, at least 1. A value that weighs more takes all
                of it.
            weigh: Returns the weight of a value.
        """
        self._values: LRUCache[K, V] = LRUCache(
            capacity, getsizeof=lambda value: min(weigh(value), capacity)
        )
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._values)

    def find(self, keys: Iterable[K]) -> dict[K, V]:
        """Return the values of those keys that are cached."""
        found: dict[K, V] = {}
        for key in keys:
            value = self._values.get(key)
            if value is None:
                self.misses += 1
            else:
                self.hits += 1
                found[key] = value
        return found

    def put(self, key: K, value: V) -> None:
        """Store a value."""
        self._values.pop(key, None)  # else room would be made for both of them
        self._values[key] = value

    def put_all(self, values: Mapping[K, V]) -> None:
        """Store several values."""
        for key, value in values.items():
            self.put(key, value)

    def forget(self, keys: Iterable[K]) -> None:
        """Drop the values of these keys."""
        for key in keys:
            self._values.pop(key, None)
