"""Splits a round's staged rows into commits.

Each commit fits the server's memory.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from propagation.model import RoutingEdge, group_pairs
from propagation.ports import Lease


@dataclass(frozen=True)
class StagedRows:
    """Rows of one statement, and its other parameters.

    Attributes:
        pack: Converts the rows of one commit to the statement's parameter `rows`.
    """

    name: str
    rows: Sequence[Any]
    parameters: Mapping[str, object] = field(default_factory=dict)
    pack: Callable[[Sequence[Any]], Sequence[Any]] = list


@dataclass(frozen=True)
class StageCall:
    """The rows that one call stages for a round.

    Attributes:
        first: Rows that all others need.
        then: Rows that touch no client.
        senders: Refs of the clients whose texts are in the parts of messages.
        held: The attributes that clients now hold, by ref.
        closed: Edges to close, as (router, ref).
        opened: Edges to open.
    """

    lease: Lease
    round: int
    first: Sequence[StagedRows] = ()
    then: Sequence[StagedRows] = ()
    senders: Collection[int] = ()
    held: Mapping[int, Sequence[str]] = field(default_factory=dict)
    closed: Sequence[tuple[int, int]] = ()
    opened: Sequence[RoutingEdge] = ()

    @property
    def clients(self) -> set[int]:
        """Return the refs of the clients that the rows touch."""
        return {
            *self.senders,
            *self.held,
            *(ref for _, ref in self.closed),
            *(edge.ref for edge in self.opened),
        }

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return (
            sum(len(batch.rows) for batch in (*self.first, *self.then))
            + len(self.held)
            + len(self.closed)
            + len(self.opened)
        )


def split_by_size(staged: Sequence[StagedRows], most: int) -> Iterator[list[StagedRows]]:
    """Split rows, in order, into commits of at most `most` rows."""
    commit: list[StagedRows] = []
    room = most
    for batch in staged:
        start = 0
        while start < len(batch.rows):
            part = batch.rows[start : start + room]
            commit.append(replace(batch, rows=part))
            start, room = start + len(part), room - len(part)
            if not room:
                yield commit
                commit, room = [], most
    if commit:
        yield commit


def build_client_lock(refs: Iterable[int]) -> StagedRows:
    """Build the rows that lock clients, for the beginning of a commit.

    Reasoning locks its clients in the order of their refs. Without this lock, a commit of a round
    would touch them statement by statement, in another order, and so deadlock with reasoning.
    """
    return StagedRows("rounds/staging/lock_clients", sorted(set(refs)))


def split_by_client(
    calls: Sequence[StageCall], most: int
) -> Iterator[tuple[list[int], list[StagedRows]]]:
    """Split the changes of clients into commits, by ref.

    All changes of a client are in one commit. Commits share no client, so that they can run
    concurrently.

    Args:
        most: A commit ends with the client that brings it to so many rows.

    Yields:
        The refs of a commit's clients, and its rows.
    """
    held: dict[int, Sequence[str]] = {
        ref: names for call in calls for ref, names in call.held.items()
    }
    leaving = group_pairs((ref, router) for call in calls for router, ref in call.closed)
    entering = group_pairs((edge.ref, edge) for call in calls for edge in call.opened)
    refs: list[int] = []
    rows = 0
    for ref in sorted({*held, *leaving, *entering}):
        refs.append(ref)
        rows += (ref in held) + len(leaving.get(ref, ())) + len(entering.get(ref, ()))
        if rows >= most:
            yield refs, _build_client_rows(calls[0].round, refs, held, leaving, entering)
            refs, rows = [], 0
    if refs:
        yield refs, _build_client_rows(calls[0].round, refs, held, leaving, entering)


def _build_client_rows(
    round_: int,
    refs: Sequence[int],
    held: Mapping[int, Sequence[str]],
    leaving: Mapping[int, Sequence[int]],
    entering: Mapping[int, Sequence[RoutingEdge]],
) -> list[StagedRows]:
    """Build the rows of the three statements that change clients.

    The rows are [ref, [name, ...]] of stage_client_attributes, [ref, [router, ...]] of close_edges
    and [ref, [[place, score], ...]] of open_edges, with places in its parameter `routers`.
    """
    routers = sorted({edge.router for ref in refs for edge in entering.get(ref, ())})
    places = {router: place for place, router in enumerate(routers)}
    staged = [
        StagedRows(
            "rounds/staging/stage_client_attributes",
            [[ref, list(held[ref])] for ref in refs if ref in held],
            {"round": round_},
        ),
        StagedRows(
            "rounds/staging/close_edges",
            [[ref, leaving[ref]] for ref in refs if ref in leaving],
            {"round": round_},
        ),
        StagedRows(
            "rounds/staging/open_edges",
            [
                [ref, [[places[edge.router], edge.score] for edge in entering[ref]]]
                for ref in refs
                if ref in entering
            ],
            {"round": round_, "routers": routers},
        ),
    ]
    return [batch for batch in staged if batch.rows]


def group_by_attribute(parts: Sequence[Sequence[Any]]) -> list[list[object]]:
    """Group parts into rows of cypher/rounds/staging/stage_parts.

    A row is [router, version, [[attribute, [[ref, profile version, sequence, place], ...]], ...]].
    """
    rows: dict[tuple[int, int], dict[str, list[list[object]]]] = {}
    for router, version, name, *part in parts:
        rows.setdefault((router, version), {}).setdefault(name, []).append(part)
    return [[*key, [[name, found] for name, found in names.items()]] for key, names in rows.items()]
