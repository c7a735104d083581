"""Differences between two texts of a client.

A text that follows another mostly differs in a few lines. A difference holds only what changes, and
names lines and rules by what they keep from version to version, not by their places. So a change
that both texts undergo alike, such as the loss of a line, leaves the difference as it is.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, TypeVar

from propagation.adapters.shared.reason_rows import build_line_row, build_rule_row
from propagation.model import ClientText, FilterRule, Line

Part = TypeVar("Part", Line, FilterRule)
Row = TypeVar("Row")
Rows = tuple[Sequence[Any], Sequence[Any]]
"""The rows of a text's lines and of its rules, as reason_rows.py builds them."""
Changes = tuple[list[Any], list[Any]]
"""The keys of rows that go; and [key, what changes] or [key, what changes, key before].

The third place is there for a row that is new or moves. It has the key of the row that comes
before it; None: it is the first.
"""
SOURCES = 5
"""The place of the sources in the row of a line."""


def find_difference(before: ClientText, after: ClientText) -> list[Any] | None:
    """Find what changes from one text to another.

    Returns:
        JSON for `apply_difference`; None if a text has two lines of one id or two rules of one
        target, which a difference cannot tell apart.
    """
    lines = _find_changes(
        before.profile.lines, after.profile.lines, attrgetter("id"), _find_line_change
    )
    rules = _find_changes(
        before.filter_memory.rules,
        after.filter_memory.rules,
        attrgetter("target"),
        _find_rule_change,
    )
    if lines is None or rules is None:
        return None
    return [*lines, *rules] if any(rules) else [*lines]


def apply_difference(difference: Sequence[Any], before: Rows) -> tuple[list[Any], list[Any]]:
    """Apply a difference to the text that it was found against.

    Unchanged rows remain the same objects.

    Returns:
        The rows of the lines and of the rules.

    Raises:
        LookupError, TypeError, ValueError: The difference was found against another text.
    """
    gone_lines, lines, gone_rules, rules = (*difference, [], [])[:4]
    return (
        _apply_changes(before[0], gone_lines, lines, _get_line_key, _change_line),
        _apply_changes(before[1], gone_rules, rules, _get_rule_key, _change_rule),
    )


def _get_line_key(row: Sequence[Hashable]) -> Hashable:
    return row[0]


def _get_rule_key(row: dict[str, Any]) -> Hashable:
    return row["router"], row["attribute"]


def _find_line_change(before: Line | None, after: Line) -> list[Any]:
    """Return the columns behind a line's id; None where nothing changes.

    None is left out at the end.
    """
    row: list[Any] = build_line_row(after)
    if before is None:
        return row[1:]
    known: list[Any] = build_line_row(before)
    changed = [None if now == then else now for then, now in zip(known, row, strict=True)]
    if changed[SOURCES] is not None:
        changed[SOURCES] = _find_source_change(known[SOURCES], row[SOURCES])
    while changed and changed[-1] is None:
        changed.pop()
    return changed[1:]


def _change_line(before: Sequence[Any] | None, change: Sequence[Any], key: Any) -> list[Any]:
    if before is None:
        return [key, *change]
    after = list(before)
    for place, column in enumerate(change, 1):
        if column is not None:
            after[place] = column
    if len(change) >= SOURCES and change[SOURCES - 1] is not None:
        after[SOURCES] = _change_sources(before[SOURCES], change[SOURCES - 1])
    return after


def _find_source_change(before: Sequence[Any], after: Sequence[Any]) -> Sequence[Any]:
    """Return what changes among a line's sources.

    Returns:
        How many sources go at the front, and the sources that come at the end; or else all sources.
    """
    if after and after[0] in before:
        front = before.index(after[0])
        stay = len(before) - front
        if list(before[front:]) == list(after[:stay]):
            return [front, *after[stay:]]
    return after


def _change_sources(before: Sequence[Any], change: Sequence[Any]) -> list[Any]:
    if change and isinstance(change[0], int):
        return [*before[change[0] :], *change[1:]]
    return list(change)


def _find_rule_change(before: FilterRule | None, after: FilterRule) -> dict[str, object]:
    """Return the fields of a rule that change."""
    row = build_rule_row(after)
    if before is None:
        return row
    known = build_rule_row(before)
    return {name: value for name, value in row.items() if known[name] != value}


def _change_rule(
    before: dict[str, Any] | None, change: dict[str, Any], _: object
) -> dict[str, Any]:
    return change if before is None else before | change


def _find_changes(
    before: Sequence[Part],
    after: Sequence[Part],
    get_key: Callable[[Part], Hashable],
    find_change: Callable[[Part | None, Part], Any],
) -> Changes | None:
    """Find what changes among lines or rules.

    Most of them are the same objects in both texts.

    Returns:
        None if two have one key.
    """
    old_keys, new_keys = list(map(get_key, before)), list(map(get_key, after))
    places = {key: place for place, key in enumerate(old_keys)}
    new = frozenset(new_keys)
    if len(places) < len(before) or len(new) < len(after):
        return None
    if old_keys == new_keys:
        staying = new
    else:
        ordered = [places[key] for key in new_keys if key in places]
        staying = frozenset(old_keys[place] for place in _find_longest_ascending(ordered))
    changes = []
    last = None
    for key, part in zip(new_keys, after, strict=True):
        known = before[places[key]] if key in places else None
        if key not in staying:
            changes.append([key, find_change(known, part), last])
        elif known is not part and known != part:
            changes.append([key, find_change(known, part)])
        last = key
    return [key for key in old_keys if key not in new], changes


def _find_longest_ascending(places: Sequence[int]) -> Sequence[int]:
    """Find the most rows that need not move: a longest ascending part.

    Args:
        places: Distinct numbers.
    """
    if all(one < other for one, other in pairwise(places)):
        return places
    ends: list[int] = []  # the least number that ends an ascending part of each length
    before: dict[int, int | None] = {}
    for place in places:
        length = bisect_left(ends, place)
        before[place] = ends[length - 1] if length else None
        ends[length:] = [place, *ends[length + 1 :]]
    found = []
    at: int | None = ends[-1]
    while at is not None:
        found.append(at)
        at = before[at]
    return found


def _apply_changes(
    before: Sequence[Row],
    gone: Sequence[Any],
    changes: Sequence[Sequence[Any]],
    get_key: Callable[[Row], Hashable],
    change: Callable[[Row | None, Any, Any], Row],
) -> list[Row]:
    if not (gone or changes):
        return list(before)
    rows = {get_key(row): row for row in before}
    for key in gone:
        del rows[_read_key(key)]
    moving: list[tuple[Hashable, Row, Hashable]] = []
    for stored, what, *behind in changes:
        key = _read_key(stored)
        if behind:
            moving.append((key, change(rows.pop(key, None), what, key), _read_key(behind[0])))
        else:
            rows[key] = change(rows[key], what, key)
    if not moving:
        return list(rows.values())
    order = list(rows)
    for key, row, last in moving:
        order.insert(0 if last is None else order.index(last) + 1, key)
        rows[key] = row
    return [rows[key] for key in order]


def _read_key(key: Any) -> Hashable:
    """Return a key; JSON stored that of a rule as a list."""
    return tuple(key) if isinstance(key, list) else key
