"""Rows on their way into the graph, in commits that the server's memory takes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from propagation.model.routers.router import RoutingEdge
from propagation.ports.graph.leases import Lease


@dataclass(frozen=True)
class StagedCheckpoint:
    """Rows for one statement, and its other parameters. `packed`: the rows of one commit as the
    statement takes them."""

    name: str
    rows: Sequence[Any]
    parameters: Mapping[str, object] = field(default_factory=dict)
    packed: Callable[[Sequence[Any]], Sequence[Any]] = list


@dataclass(frozen=True)
class StageCall:
    """What one call stages for a round: `first`, on which the rest hangs; `then`, which touches no
    client; and what changes at clients: the attributes that they hold, edges to close by (router,
    ref), edges to open."""

    lease: Lease
    round: int
    first: Sequence[StagedCheckpoint] = ()
    then: Sequence[StagedCheckpoint] = ()
    held: Mapping[int, Sequence[str]] = field(default_factory=dict)
    closed: Sequence[tuple[int, int]] = ()
    opened: Sequence[RoutingEdge] = ()

    @property
    def rows(self) -> int:
        """How many it writes."""
        return (
            sum(len(some.rows) for some in (*self.first, *self.then))
            + len(self.held)
            + len(self.closed)
            + len(self.opened)
        )


def in_commits(staged: Sequence[StagedCheckpoint], most: int) -> Iterator[list[StagedCheckpoint]]:
    """The same rows in order, at most `most` a commit."""
    commit: list[StagedCheckpoint] = []
    room = most
    for some in staged:
        start = 0
        while start < len(some.rows):
            part = some.rows[start : start + room]
            commit.append(replace(some, rows=part))
            start, room = start + len(part), room - len(part)
            if not room:
                yield commit
                commit, room = [], most
    if commit:
        yield commit


def by_client(calls: Sequence[StageCall], most: int) -> Iterator[list[StagedCheckpoint]]:
    """What changes at clients, in order of their refs: all that changes at one is in one commit, of
    some `most` rows. Commits share no client, so that they can be made side by side."""
    held: dict[int, Sequence[str]] = {
        ref: names for call in calls for ref, names in call.held.items()
    }
    leaving: dict[int, list[int]] = {}
    for call in calls:
        for router, ref in call.closed:
            leaving.setdefault(ref, []).append(router)
    entering: dict[int, list[RoutingEdge]] = {}
    for call in calls:
        for edge in call.opened:
            entering.setdefault(edge.ref, []).append(edge)
    refs: list[int] = []
    rows = 0
    for ref in sorted({*held, *leaving, *entering}):
        refs.append(ref)
        rows += (ref in held) + len(leaving.get(ref, ())) + len(entering.get(ref, ()))
        if rows >= most:
            yield _at_clients(calls[0].round, refs, held, leaving, entering)
            refs, rows = [], 0
    if refs:
        yield _at_clients(calls[0].round, refs, held, leaving, entering)


def _at_clients(
    round_: int,
    refs: Sequence[int],
    held: Mapping[int, Sequence[str]],
    leaving: Mapping[int, Sequence[int]],
    entering: Mapping[int, Sequence[RoutingEdge]],
) -> list[StagedCheckpoint]:
    """Rows of cypher/rounds/staging/stage_client_attributes [ref, [name, ...]], close_edges [ref, [router, ...]] and
    open_edges [ref, [[place, score], ...]], places among its parameter `routers`."""
    routers = sorted({edge.router for ref in refs for edge in entering.get(ref, ())})
    places = {router: place for place, router in enumerate(routers)}
    staged = [
        StagedCheckpoint(
            "rounds/staging/stage_client_attributes",
            [[ref, list(held[ref])] for ref in refs if ref in held],
            {"round": round_},
        ),
        StagedCheckpoint(
            "rounds/staging/close_edges",
            [[ref, leaving[ref]] for ref in refs if ref in leaving],
            {"round": round_},
        ),
        StagedCheckpoint(
            "rounds/staging/open_edges",
            [
                [ref, [[places[edge.router], edge.score] for edge in entering[ref]]]
                for ref in refs
                if ref in entering
            ],
            {"round": round_, "routers": routers},
        ),
    ]
    return [some for some in staged if some.rows]


def by_attribute(parts: Sequence[Sequence[Any]]) -> list[list[object]]:
    """Rows of cypher/rounds/staging/stage_parts: [router, version, [[attribute, [[ref, profile version,
    sequence, place], ...]], ...]]."""
    rows: dict[tuple[int, int], dict[str, list[list[object]]]] = {}
    for router, version, name, *part in parts:
        rows.setdefault((router, version), {}).setdefault(name, []).append(part)
    return [[*key, [[name, found] for name, found in of.items()]] for key, of in rows.items()]
