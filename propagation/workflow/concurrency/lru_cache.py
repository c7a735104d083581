"""LRU cache of values by key."""

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Values by key; the least recently used are dropped once they exceed the capacity."""

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

    def find(self, keys: Iterable[K]) -> dict[K, V]:
        """Return the values of those keys that are cached."""
        return {key: value for key in keys if (value := self._values.get(key)) is not None}

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
