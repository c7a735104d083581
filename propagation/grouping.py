"""Groups and sums of values by key, and batches."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")
Number = TypeVar("Number", int, float)


def group_pairs(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Group values by key; keys and values keep their order."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def keep_first(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, Value]:
    """Keep the first value of each key, in order."""
    first: dict[Key, Value] = {}
    for key, value in pairs:
        first.setdefault(key, value)
    return first


def sum_pairs(pairs: Iterable[tuple[Key, Number]]) -> dict[Key, Number]:
    """Add up the numbers of each key in order; keys keep theirs."""
    sums: dict[Key, Number] = {}
    for key, number in pairs:
        sums[key] = sums.get(key, 0) + number
    return sums


def split_into_batches(values: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    """Yield values in order, at most `size` at a time."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
