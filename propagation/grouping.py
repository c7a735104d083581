"""Groups of values: by key, and in batches."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def group_pairs(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Group values by key; keys and values keep their order."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def split_into_batches(values: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    """Yield values in order, at most `size` at a time."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
