"""Edits made on one version of a profile, on a newer one: edits of different lines commute (DESIGN,
Vocabulary)."""

from collections.abc import Mapping, Sequence

from propagation.model.clients.filter_memory import FilterMemory, FilterRule
from propagation.model.clients.profile import (
    AddLine,
    DropLine,
    Edit,
    EditClash,
    Line,
    Profile,
    ReplaceLine,
)


def rebased(
    edits: Sequence[Edit], seen: Profile, now: Profile, moved: Mapping[int, int]
) -> list[Edit]:
    """The same edits for `now`. `moved`: lines that have another id there. Raises EditClash where
    an edited line reads or weighs otherwise than it was seen, or is gone."""
    before = {line.id: line for line in seen.lines}
    current = {line.id: line for line in now.lines}
    out: list[Edit] = []
    for edit in edits:
        if isinstance(edit, AddLine):
            out.append(edit)
            continue
        old = edit.id if isinstance(edit, DropLine) else edit.line.id
        new = moved.get(old, old)
        if (
            old not in before
            or new not in current
            or _content(before[old]) != _content(current[new])
        ):
            raise EditClash(old)
        out.append(
            DropLine(id=new)
            if isinstance(edit, DropLine)
            else ReplaceLine(line=edit.line.changed(id=new))
        )
    return out


def check_rules(rules: Sequence[FilterRule], seen: FilterMemory, now: FilterMemory) -> None:
    """Raises EditClash where a rule's target has another rule by now than it was seen with."""
    for rule in rules:
        before = next((old for old in seen.rules if old.target == rule.target), None)
        if before != next((old for old in now.rules if old.target == rule.target), None):
            raise EditClash(rule.router if rule.router is not None else 0)


def moved_ids(edits: Sequence[Edit], seen: Profile, now: Profile) -> dict[int, int]:
    """The ids that the lines which these edits add get on `now`, by those they got on `seen`."""
    count = sum(isinstance(edit, AddLine) for edit in edits)
    return {seen.next_id + place: now.next_id + place for place in range(count)}


def _content(line: Line) -> Line:
    return line.changed(id=0)
