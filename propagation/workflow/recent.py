"""A bounded cache: what was used least recently goes first; its use is counted."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """At most `bound` (>= 1) values by key. `hits` and `misses` count look-ups since the start."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._values: OrderedDict[K, V] = OrderedDict()
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._values)

    def find(self, keys: Iterable[K]) -> dict[K, V]:
        """Those of the keys that are held."""
        found: dict[K, V] = {}
        for key in keys:
            value = self._values.get(key)
            if value is None:
                self.misses += 1
                continue
            self.hits += 1
            self._values.move_to_end(key)
            found[key] = value
        return found

    def put(self, key: K, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._bound:
            self._values.popitem(last=False)

    def forget(self, keys: Iterable[K]) -> None:
        for key in keys:
            self._values.pop(key, None)
