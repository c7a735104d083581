"""Rows into commits: all of them, in order, none too large, at least one."""

from hypothesis import given
from hypothesis import strategies as st

from propagation.adapters.neo4j.staging import Staged, in_commits


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 5))
def test_all_rows_come_in_order_and_no_commit_is_too_large(sizes, most):
    staged = [Staged(f"s{n}", [f"{n}-{row}" for row in range(size)]) for n, size in enumerate(sizes)]
    commits = list(in_commits(staged, most))
    assert [(some.name, row) for commit in commits for some in commit for row in some.rows] == [
        (some.name, row) for some in staged for row in some.rows]
    assert all(sum(len(some.rows) for some in commit) <= most for commit in commits)
    assert len(commits) == max(1, -(-sum(sizes) // most))
