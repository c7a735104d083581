"""Rows on their way into the graph, in commits that the server's memory takes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from propagation.model.router import RoutingEdge


@dataclass(frozen=True)
class Staged:
    """Rows for one statement, and its other parameters. `packed`: the rows of one commit as the statement takes them."""

    name: str
    rows: Sequence[Any]
    parameters: Mapping[str, object] = field(default_factory=dict)
    packed: Callable[[Sequence[Any]], Sequence[Any]] = list


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


def by_client(places: Mapping[int, int], edges: Sequence[RoutingEdge]) -> list[list[object]]:
    """Rows of cypher/rounds/open_edges: [ref, [[place, score], ...]], by ref. `places`: of each router among `routers`."""
    rows: dict[int, list[list[object]]] = {}
    for edge in edges:
        rows.setdefault(edge.ref, []).append([places[edge.router], edge.score])
    return [[ref, rows[ref]] for ref in sorted(rows)]


def routers_by_client(pairs: Sequence[tuple[int, int]]) -> list[list[object]]:
    """Rows of cypher/rounds/close_edges: [ref, [router, ...]]."""
    rows: dict[int, list[int]] = {}
    for router, ref in pairs:
        rows.setdefault(ref, []).append(router)
    return [[ref, routers] for ref, routers in rows.items()]


def by_attribute(parts: Sequence[Sequence[Any]]) -> list[list[object]]:
    """Rows of cypher/rounds/stage_parts: [router, version, [[attribute, [[ref, profile version, sequence, place], ...]], ...]]."""
    rows: dict[tuple[int, int], dict[str, list[list[object]]]] = {}
    for router, version, name, *part in parts:
        rows.setdefault((router, version), {}).setdefault(name, []).append(part)
    return [[*key, [[name, found] for name, found in of.items()]] for key, of in rows.items()]
