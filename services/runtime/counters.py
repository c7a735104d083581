"""How often things happened since this process started: numbers that only grow, for whatever
exports them."""

from collections import Counter
from collections.abc import Mapping


class Counters:
    """Counted by (name, label); names as a metric has them, with their unit, the label says which
    one of a kind."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, label: str = "", by: int = 1) -> None:
        self._counts[name, label] += by

    def begin(self, name: str, *labels: str) -> None:
        """At nothing: what is first counted later would be no increase to whoever looks."""
        for label in labels:
            self.add(name, label, 0)

    def snapshot(self) -> Mapping[tuple[str, str], int]:
        """A copy."""
        return dict(self._counts)
