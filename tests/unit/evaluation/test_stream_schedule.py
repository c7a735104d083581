"""The events that a protocol ranks and learns, on streams that can be read by eye."""

from itertools import pairwise

import numpy as np

from propagation.evaluation.protocols.passes import (
    Schedule,
    find_last_of_each_user,
    leave_one_out,
    schedule_prequential,
    shuffle_histories,
)
from propagation.evaluation.stream import Stream

USER = np.array([0, 1, 0, 2, 1, 0])
ITEM = np.array([5, 5, 6, 7, 6, 5])
STREAM = Stream("s", [""] * 8, [""] * 8, USER, ITEM, *[np.arange(6)] * 2)


def test_the_target_is_the_last_of_users_with_a_past():
    assert np.flatnonzero(find_last_of_each_user(STREAM)).tolist() == [4, 5]


def test_all_but_the_targets_is_learned_once_and_targets_are_ranked_twice():
    schedule = leave_one_out(STREAM, find_last_of_each_user(STREAM))
    assert schedule.user.tolist() == [0, 1, 0, 2, 1, 0, 1, 0]
    assert schedule.learned.tolist() == [True] * 4 + [False] * 4
    assert schedule.ranked.tolist() == [False] * 4 + [True] * 4


def test_known_counts_what_was_learned_before_and_a_repeat_adopts_once():
    past, had, adopters = schedule_prequential(STREAM, 1).count_known()
    assert past.tolist() == had.tolist() == [0, 0, 1, 0, 1, 2]
    assert adopters.tolist() == [0, 1, 0, 0, 1, 2]
    repeat = Schedule(  # type: ignore[call-arg]
        np.array([3, 3, 3, 4]),
        np.array([1, 1, 2, 1]),
        np.zeros(4, np.uint32),
        *[np.ones(4, np.bool_)] * 2,
        np.arange(4),
    )
    past, had, adopters = repeat.count_known()
    assert (past.tolist(), had.tolist()) == ([0, 1, 2, 0], [0, 1, 1, 0])
    assert adopters.tolist() == [0, 1, 0, 1]


def test_the_items_of_each_user_are_distinct_and_known_by_place():
    starts, items = schedule_prequential(STREAM, 1).group_items_by_user(3)
    assert items.flags.c_contiguous, "the kernels would be compiled once more"
    assert [items[a:b].tolist() for a, b in pairwise(starts)] == [[5, 6], [5, 6], [7]]


def test_shuffled_histories_keep_each_users_items_moments_and_target():
    rng = np.random.default_rng(3)
    stream = Stream(
        "s",
        [""] * 400,
        [""] * 400,
        rng.integers(0, 5, 400),
        rng.permutation(400),
        *[np.arange(400)] * 2,
    )
    targets = find_last_of_each_user(stream)
    mixed = shuffle_histories(stream, targets, 1)
    assert np.array_equal(mixed.user, stream.user)
    assert np.array_equal(mixed.item[targets], stream.item[targets])
    for user in range(5):
        assert sorted(mixed.item[mixed.user == user]) == sorted(stream.item[stream.user == user])
    assert (mixed.item != stream.item).mean() > 0.9
