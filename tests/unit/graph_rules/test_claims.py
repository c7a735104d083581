"""Which interactions a claim takes, and what its work consists of."""

import numpy as np

from propagation.graph_rules.claims import (
    Draw,
    DrawColumns,
    build_reason_works,
    choose_interactions,
    count_pending_to_fetch,
    find_reasoned_through,
    list_drawn_items,
    read_draws,
)
from propagation.model import ClientKind, compute_ref

ANN, BOB = 0, 1
FIRST_ITEM, SECOND_ITEM = compute_ref(ClientKind.ITEM, 0), compute_ref(ClientKind.ITEM, 1)


def test_the_oldest_interactions_are_chosen_up_to_the_limit():
    assert choose_interactions([(1, ANN), (2, BOB), (3, ANN)], set(), 2) == [1, 2]


def test_a_claimed_interaction_blocks_the_later_ones_of_its_user():
    assert choose_interactions([(1, ANN), (2, BOB), (3, ANN), (4, BOB)], {1}, 9) == [2, 4]


def test_a_store_looks_further_ahead_only_where_claims_exist():
    assert count_pending_to_fetch(10, 0) == 10
    assert count_pending_to_fetch(10, 3) > 10 + 3


def test_everything_below_the_oldest_pending_interaction_is_reasoned():
    assert find_reasoned_through(4, learned=9) == 3
    assert find_reasoned_through(None, learned=9) == 9


def test_draws_are_read_from_the_block_that_covers_them():
    columns = DrawColumns(
        through=12,
        sequence=np.array([5, 7, 9]),
        negatives=np.array([1, -1, 0], np.int32),
        scores=np.array([[0.5, 0.25], [np.nan, np.nan], [1.0, 2.0]], np.float32),
    )
    draws = read_draws(columns, [5, 7, 20])
    assert list(draws) == [5, 7]
    assert draws[5] == Draw(SECOND_ITEM, 0.5, 0.25)
    assert draws[7].negative is None
    assert list_drawn_items(draws.values()) == [SECOND_ITEM]


def test_work_carries_the_negative_and_both_scores():
    (work,) = build_reason_works(
        [(5, ANN, FIRST_ITEM, 2.0)],
        {5: Draw(SECOND_ITEM, 0.5, 0.25)},
        [SECOND_ITEM],
    )
    assert (work.sequence, work.user, work.item, work.weight) == (5, ANN, FIRST_ITEM, 2.0)
    assert (work.negative, work.score_positive, work.score_negative) == (SECOND_ITEM, 0.5, 0.25)


def test_a_forgotten_negative_leaves_nothing_to_predict_against():
    (work,) = build_reason_works([(5, ANN, FIRST_ITEM, 1.0)], {5: Draw(SECOND_ITEM, 0.5, 0.25)}, [])
    assert (work.negative, work.score_positive, work.score_negative) == (None, None, None)
