"""Patches of a checkpoint: the rows that changed since its arrays were written.

With a patch little is left to write while learning is suspended. `NAME@rows` [n] i64 and
`NAME@values` [n, ...] replace or append rows of the array NAME; `NAME@whole` replaces all of it.
Neighbours are a CSR matrix by item, of which `neighbour_count` [I] holds the lengths of rows.
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

ROWS, VALUES, WHOLE = "@rows", "@values", "@whole"
COUNT, NEAR, NEAR_ROWS = "neighbour_count", ("near_items", "near_weights"), "near" + ROWS
T = TypeVar("T", bound=np.generic)
Array = NDArray[np.generic]
Flags = NDArray[np.bool_]


def make_patch(before: Mapping[str, Array], now: Mapping[str, Array]) -> dict[str, Array]:
    """Return the patch that turns `before` into `now`.

    Arrays that `before` lacks are in it whole, under their own names.
    """
    patch = {name: array for name, array in now.items() if name not in before}
    for name in before:
        if name not in NEAR:
            patch |= _rows_of(name, before[name], now[name])
    if COUNT in before:
        patch |= _neighbours_of(before, now)
    return patch


def apply_patch(arrays: dict[str, Array]) -> dict[str, Array]:
    """Return the patched arrays.

    They are taken out of `arrays` one by one, so that hardly more than one copy is in memory.
    """
    if NEAR_ROWS in arrays:
        _put_neighbours(arrays)
    for key in [key for key in arrays if key.endswith(WHOLE)]:
        arrays[key.removesuffix(WHOLE)] = arrays.pop(key)
    for key in [key for key in arrays if key.endswith(ROWS)]:
        name = key.removesuffix(ROWS)
        rows, values = np.asarray(arrays.pop(key), np.int64), arrays.pop(name + VALUES)
        arrays[name] = _with_rows(arrays[name], rows, values)
    return arrays


def _rows_of(name: str, before: Array, now: Array) -> dict[str, Array]:
    if before.shape[1:] != now.shape[1:] or before.dtype != now.dtype or len(now) < len(before):
        return {name + WHOLE: now}
    changed = np.ones(len(now), np.bool_)
    changed[: len(before)] = _differ(before, now[: len(before)])
    rows = np.flatnonzero(changed)
    if 2 * len(rows) > len(now):
        return {name + WHOLE: now}
    return {name + ROWS: rows, name + VALUES: now[rows]} if len(rows) else {}


def _differ(one: Array, other: Array) -> Flags:
    """Return whether any bit of a row differs, [n]."""
    if not one.size:
        return np.zeros(len(one), np.bool_)
    differs = _bits(one) != _bits(other)
    found: Flags = differs.reshape(len(one), -1).any(axis=1)
    return found


def _bits(array: Array) -> NDArray[np.unsignedinteger]:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _with_rows(array: NDArray[T], rows: NDArray[np.int64], values: Array) -> NDArray[T]:
    size = max(len(array), int(rows[-1]) + 1)
    if size > len(array):
        longer = np.empty((size, *array.shape[1:]), array.dtype)
        longer[: len(array)] = array
        array = longer
    array[rows] = values
    return array


def _neighbours_of(before: Mapping[str, Array], now: Mapping[str, Array]) -> dict[str, Array]:
    lengths, newer = _lengths(before), _lengths(now)
    changed = np.ones(len(newer), np.bool_)
    changed[: len(lengths)] = lengths != newer[: len(lengths)]
    same = ~changed
    mine, theirs = np.repeat(same[: len(lengths)], lengths), np.repeat(same, newer)
    differs = np.zeros(int(mine.sum()), np.bool_)
    for name in NEAR:
        differs |= _bits(before[name])[mine] != _bits(now[name])[theirs]
    changed[np.repeat(np.flatnonzero(same), newer[same])[differs]] = True
    rows = np.flatnonzero(changed)
    taken = np.repeat(changed, newer)
    return {NEAR_ROWS: rows} | {name + VALUES: now[name][taken] for name in NEAR}


def _put_neighbours(arrays: dict[str, Array]) -> None:
    rows, lengths = np.asarray(arrays.pop(NEAR_ROWS), np.int64), _lengths(arrays)
    newer = lengths
    if COUNT + WHOLE in arrays:
        newer = np.asarray(arrays[COUNT + WHOLE], np.int64)
    elif COUNT + ROWS in arrays:
        newer = _with_rows(
            lengths.copy(), np.asarray(arrays[COUNT + ROWS], np.int64), arrays[COUNT + VALUES]
        )
    changed = np.zeros(len(newer), np.bool_)
    changed[rows] = True
    taken, kept = np.repeat(changed, newer), np.repeat(~changed[: len(lengths)], lengths)
    for name in NEAR:
        out = np.empty(int(newer.sum()), arrays[name].dtype)
        out[taken] = arrays.pop(name + VALUES)
        out[~taken] = arrays[name][kept]
        arrays[name] = out


def _lengths(arrays: Mapping[str, Array]) -> NDArray[np.int64]:
    return np.asarray(arrays[COUNT], np.int64)
