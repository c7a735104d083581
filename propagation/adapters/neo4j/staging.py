"""Rows on their way into the graph, in commits that the server's memory takes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Staged:
    """Rows for one statement, and its other parameters."""

    name: str
    rows: Sequence[Any]
    parameters: Mapping[str, object] = field(default_factory=dict)


def in_commits(staged: Sequence[Staged], most: int) -> Iterator[list[Staged]]:
    """The same rows in order, at most `most` a commit; at least one commit."""
    commit: list[Staged] = []
    room, commits = most, 0
    for some in staged:
        start = 0
        while start < len(some.rows):
            part = some.rows[start : start + room]
            commit.append(replace(some, rows=part))
            start, room = start + len(part), room - len(part)
            if not room:
                yield commit
                commit, room, commits = [], most, commits + 1
    if commit or not commits:
        yield commit
