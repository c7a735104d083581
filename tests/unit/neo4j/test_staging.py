"""Rows into commits: all of them, in order, none too large, at least one."""

from hypothesis import given
from hypothesis import strategies as st

from propagation.adapters.neo4j.staging import Staged, by_attribute, by_client, in_commits, routers_by_client
from tests.contract.graph_store import edge


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 5))
def test_all_rows_come_in_order_and_no_commit_is_too_large(sizes, most):
    staged = [Staged(f"s{n}", [f"{n}-{row}" for row in range(size)]) for n, size in enumerate(sizes)]
    commits = list(in_commits(staged, most))
    assert [(some.name, row) for commit in commits for some in commit for row in some.rows] == [
        (some.name, row) for some in staged for row in some.rows]
    assert all(sum(len(some.rows) for some in commit) <= most for commit in commits)
    assert len(commits) == max(1, -(-sum(sizes) // most))


def test_each_client_and_each_attribute_is_looked_up_once():
    edges = [edge(7, 2, 0.5), edge(3, 4, 0.25), edge(3, 2, 0.125)]
    assert by_client({3: 0, 7: 1}, edges) == [[2, [[1, 0.5], [0, 0.125]]], [4, [[0, 0.25]]]]
    assert routers_by_client([(3, 2), (3, 4), (7, 2)]) == [[2, [3, 7]], [4, [3]]]
    parts = [[3, 1, "jazz", 2, 1, 5, 0], [3, 1, "opera", 2, 1, 5, 1], [3, 1, "jazz", 4, 2, 6, 2], [3, 2, "jazz", 4, 2, 6, 0]]
    assert by_attribute(parts) == [[3, 1, [["jazz", [[2, 1, 5, 0], [4, 2, 6, 2]]], ["opera", [[2, 1, 5, 1]]]]],
                                   [3, 2, [["jazz", [[4, 2, 6, 0]]]]]]
