"""What retention may drop: worked by hand, and nothing that can still be shown is missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from propagation.graph_rules.retention import (
    MessageState,
    list_outdated_checkpoints,
    may_drop_edge,
    may_drop_merges,
    may_drop_message,
    may_drop_text,
)


@pytest.mark.parametrize(
    ("replaced_at", "is_held", "goes"),
    [
        (None, False, False),  # current
        (99, False, True),
        (100, False, True),  # at 100 the next version is shown
        (101, False, False),  # at 100 this one is shown
        (99, True, False),
    ],
)
def test_a_text_goes_once_replaced_unless_a_message_holds_a_part(replaced_at, is_held, goes):
    assert may_drop_text(replaced_at, is_held, before=100) == goes


@pytest.mark.parametrize(
    ("closed", "is_first", "goes"),
    [(None, False, False), (7, False, True), (8, False, True), (9, False, False), (7, True, False)],
)
def test_an_edge_goes_once_closed_unless_the_client_would_be_new_again(closed, is_first, goes):
    assert may_drop_edge(closed, is_first, round_=8) == goes


@pytest.mark.parametrize(
    ("is_cited", "merged_at", "replaced_at", "merges_go", "message_goes"),
    [
        (False, None, 90, True, True),
        (False, 100, 100, True, True),
        (False, 50, None, True, False),  # still the router's newest
        (False, 50, 101, True, False),  # shown at 100
        (False, 101, 90, False, False),  # merged since
        (True, 50, 90, False, False),
    ],
)
def test_a_message_goes_once_replaced_unless_cited_or_merged_since(
    is_cited, merged_at, replaced_at, merges_go, message_goes
):
    state = MessageState(is_cited, merged_at, replaced_at)
    assert may_drop_merges(state, before=100) == merges_go
    assert may_drop_message(state, before=100) == message_goes


def find_shown(versions, sequence):
    """The newest version that was written at or before a sequence."""
    return max((one for one in versions if one[0] <= sequence), default=None)


@given(
    versions=st.lists(st.tuples(st.integers(0, 30), st.booleans()), unique_by=lambda one: one[0]),
    before=st.integers(0, 40),
)
def test_every_sequence_from_the_oldest_kept_on_shows_the_same_text(versions, before):
    versions.sort()
    nexts = [sequence for sequence, _ in versions[1:]] + [None]
    left = [
        version
        for version, replaced_at in zip(versions, nexts, strict=False)
        if not may_drop_text(replaced_at, version[1], before)
    ]
    assert all(find_shown(left, at) == find_shown(versions, at) for at in range(before, 45))
    assert {version for version in versions if version[1]} <= set(left)


@given(
    edges=st.lists(st.tuples(st.integers(0, 10), st.none() | st.integers(1, 12))),
    round_=st.integers(0, 12),
)
def test_every_round_from_the_oldest_kept_on_shows_the_same_edges(edges, round_):
    """Edges are (opened, closed or None); the round of the first stays the same."""
    edges = [(opened, closed) for opened, closed in edges if closed is None or closed > opened]
    first = min((opened for opened, _ in edges), default=None)
    left = [
        (opened, closed)
        for opened, closed in edges
        if not may_drop_edge(closed, opened == first, round_)
    ]

    def open_at(some, at):
        return sorted(o for o, c in some if o <= at and (c is None or c > at))

    assert all(open_at(left, at) == open_at(edges, at) for at in range(round_, 15))
    assert min((opened for opened, _ in left), default=None) == first


@given(
    state=st.builds(
        MessageState,
        st.booleans(),
        st.none() | st.integers(0, 20),
        st.none() | st.integers(0, 20),
    ),
    before=st.integers(0, 20),
)
def test_a_message_never_goes_without_its_merges_and_what_may_go_once_may_go_later(state, before):
    assert may_drop_merges(state, before) or not may_drop_message(state, before)
    assert may_drop_message(state, before + 1) or not may_drop_message(state, before)


BARRIER, COMPLETE, STAGED, STAGED_BARRIER = (
    (True, True),
    (False, True),
    (False, False),
    (True, False),
)


@pytest.mark.parametrize(
    ("checkpoints", "published", "outdated"),
    [
        ([], 1, []),
        ([(1, *COMPLETE)], 1, []),
        ([(1, *COMPLETE), (2, *COMPLETE)], 2, [1]),
        ([(1, *BARRIER), (2, *COMPLETE), (3, *COMPLETE)], 3, [2]),
        ([(1, *BARRIER), (2, *COMPLETE), (3, *BARRIER)], 3, [1, 2]),
        ([(1, *BARRIER), (2, *BARRIER), (3, *COMPLETE)], 3, [1]),
        ([(1, *BARRIER), (2, *STAGED_BARRIER), (3, *COMPLETE)], 3, [2]),
        ([(1, *BARRIER), (2, *COMPLETE), (3, *STAGED)], 2, []),
    ],
)
def test_a_checkpoint_replaces_older_ones_but_for_the_newest_barrier(
    checkpoints, published, outdated
):
    assert list_outdated_checkpoints(checkpoints, published) == outdated
