"""Rows into commits: all of them, in order, none too large; of each client everything in one."""

from hypothesis import given
from hypothesis import strategies as st

from propagation.adapters.neo4j.rounds.staged_rows import (
    StageCall,
    StagedRows,
    group_by_attribute,
    split_by_client,
    split_by_size,
)
from propagation.ports import Lease
from tests.contract.graph_store import edge

LEASE = Lease(name="round", holder="test", token=1)
PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), unique=True, max_size=30)


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 5))
def test_all_rows_come_in_order_and_no_commit_is_too_large(sizes, most):
    staged = [
        StagedRows(f"s{n}", [f"{n}-{row}" for row in range(size)]) for n, size in enumerate(sizes)
    ]
    commits = list(split_by_size(staged, most))
    assert [(some.name, row) for commit in commits for some in commit for row in some.rows] == [
        (some.name, row) for some in staged for row in some.rows
    ]
    assert all(sum(len(some.rows) for some in commit) <= most for commit in commits)
    assert len(commits) == -(-sum(sizes) // most)


@given(PAIRS, PAIRS, st.sets(st.integers(0, 9)), st.integers(1, 9), st.integers(1, 3))
def test_what_changes_at_a_client_is_in_one_commit_and_all_of_it_comes(
    closed, opened, held, most, calls
):
    staged = [
        StageCall(
            LEASE,
            4,
            held={ref: [f"of {ref}"] for ref in held if ref % calls == n},
            closed=closed[n::calls],
            opened=[edge(router, ref, router / 8) for router, ref in opened[n::calls]],
        )
        for n in range(calls)
    ]
    split = list(split_by_client(staged, most))
    refs, commits = [of for of, _ in split], [rows for _, rows in split]
    assert refs == [sorted({row[0] for some in commit for row in some.rows}) for commit in commits]
    assert [ref for of in refs for ref in of] == sorted(
        {*held, *(ref for _, ref in closed), *(ref for _, ref in opened)}
    )
    found = {
        name: [
            row for commit in commits for some in commit if some.name == name for row in some.rows
        ]
        for name in ("rounds/staging/stage_client_attributes", "rounds/staging/close_edges")
    }
    assert found["rounds/staging/stage_client_attributes"] == [
        [ref, [f"of {ref}"]] for ref in sorted(held)
    ]
    assert sorted(
        (router, ref) for ref, routers in found["rounds/staging/close_edges"] for router in routers
    ) == sorted(closed)
    entering = [
        (some.parameters["routers"][place], row[0], score)
        for commit in commits
        for some in commit
        if some.name == "rounds/staging/open_edges"
        for row in some.rows
        for place, score in row[1]
    ]
    assert sorted(entering) == sorted((router, ref, router / 8) for router, ref in opened)
    assert all(some.parameters["round"] == 4 for commit in commits for some in commit)


def test_a_commit_ends_with_the_client_that_fills_it():
    opened = [edge(7, 2, 0.5), edge(3, 4, 0.25), edge(3, 2, 0.125)]
    (_, first), (_, second) = split_by_client([StageCall(LEASE, 1, opened=opened)], 2)
    assert [(some.name, some.rows, some.parameters["routers"]) for some in (*first, *second)] == [
        ("rounds/staging/open_edges", [[2, [[1, 0.5], [0, 0.125]]]], [3, 7]),
        ("rounds/staging/open_edges", [[4, [[0, 0.25]]]], [3]),
    ]


def test_each_attribute_is_looked_up_once():
    parts = [
        [3, 1, "jazz", 2, 1, 5, 0],
        [3, 1, "opera", 2, 1, 5, 1],
        [3, 1, "jazz", 4, 2, 6, 2],
        [3, 2, "jazz", 4, 2, 6, 0],
    ]
    assert group_by_attribute(parts) == [
        [3, 1, [["jazz", [[2, 1, 5, 0], [4, 2, 6, 2]]], ["opera", [[2, 1, 5, 1]]]]],
        [3, 2, [["jazz", [[4, 2, 6, 0]]]]],
    ]
