"""A bounded cache: what was used least recently goes first; its use is counted."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key that weigh at most `bound` (>= 1) together: one each, or what `weigh` says; the
    newest is held whatever it weighs. `hits` and `misses` count look-ups since the start."""

    def __init__(self, bound: int, weigh: Callable[[V], int] | None = None) -> None:
        self._bound = bound
        self._weigh = weigh or (lambda value: 1)
        self._weight = 0
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
        self._drop(key)
        self._values[key] = value
        self._weight += self._weigh(value)
        while self._weight > self._bound and len(self._values) > 1:
            self._drop(next(iter(self._values)))

    def forget(self, keys: Iterable[K]) -> None:
        for key in keys:
            self._drop(key)

    def _drop(self, key: K) -> None:
        value = self._values.pop(key, None)
        if value is not None:
            self._weight -= self._weigh(value)
