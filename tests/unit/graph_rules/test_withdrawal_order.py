"""The order of a withdrawal's steps."""

from propagation.graph_rules.withdrawal_order import WithdrawalStep as Step
from propagation.graph_rules.withdrawal_order import (
    choose_affected_keys,
    find_indebted_routers,
    find_lost_attributes,
    list_held_attributes,
    order_withdrawal_steps,
)
from propagation.model import Attribute, EntryKind, Withdrawal

RETRACTION = Withdrawal(kind=EntryKind.RETRACTION, refs=(2,), interactions=())
ERASURE = Withdrawal(kind=EntryKind.ERASURE, refs=(2,), interactions=(), erased=2)


def are_in_order(steps, *expected):
    places = [steps.index(step) for step in expected]
    return places == sorted(places)


def test_nothing_changes_before_citations_were_checked():
    for withdrawal in (RETRACTION, ERASURE):
        steps = order_withdrawal_steps(withdrawal)
        assert steps[:2] == [Step.VOID_CLAIMS, Step.CHECK_CITATIONS]


def test_texts_take_the_sequence_of_the_log_entry():
    steps = order_withdrawal_steps(RETRACTION)
    assert are_in_order(steps, Step.WITHDRAW_INTERACTIONS, Step.APPEND_LOG_ENTRY, Step.CHANGE_TEXTS)
    assert steps[-2:] == [Step.RECORD_SEQUENCE, Step.EMPTY_CACHES]


def test_senders_are_counted_after_their_parts_are_gone():
    last = (Step.CHANGE_ATTRIBUTES, Step.CHANGE_MESSAGES)
    assert are_in_order(order_withdrawal_steps(RETRACTION), Step.REDUCE_MESSAGES, *last)
    assert are_in_order(order_withdrawal_steps(ERASURE), Step.ERASE_CLIENT, *last)


def test_only_an_erasure_removes_a_client_and_has_to_be_wiped():
    assert set(order_withdrawal_steps(ERASURE)) - set(order_withdrawal_steps(RETRACTION)) == {
        Step.ERASE_CLIENT,
        Step.MOVE_TEXTS,
        Step.MARK_FOR_WIPING,
    }


def test_new_numbers_that_concern_nobody_touch_no_text():
    nobody = Withdrawal(kind=EntryKind.RETRACTION, refs=(), interactions=())
    assert order_withdrawal_steps(nobody) == [
        Step.APPEND_LOG_ENTRY,
        Step.PUBLISH_BARRIER,
        Step.RECORD_SEQUENCE,
    ]


def test_every_step_is_used():
    assert {*order_withdrawal_steps(ERASURE), *order_withdrawal_steps(RETRACTION)} == set(Step)


def test_attributes_are_lost_or_counted():
    withdrawal = Withdrawal(
        kind=EntryKind.RETRACTION,
        refs=(2,),
        interactions=(),
        recounted=[
            Attribute(name=n, holders=c) for n, c in (("opera", 0), ("jazz", 3), ("bop", 0))
        ],
    )
    assert find_lost_attributes(withdrawal) == ["bop", "opera"]
    assert [one.name for one in list_held_attributes(withdrawal)] == ["jazz"]


def test_a_router_s_weights_change_from_the_first_lost_part_on():
    messages = [
        (1, 1, 10, False),
        (1, 2, 20, False),  # the newest before: version 3 was made of it
        (1, 3, 30, False),
        (2, 1, 10, True),
        (2, 2, 20, False),
        (2, 3, 40, False),
    ]
    keys = choose_affected_keys({(1, 3): 30, (3, 1): 35}, messages)
    assert keys == [(1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1)]
    assert choose_affected_keys({}, [(2, 1, 10, True)]) == [(2, 1)]


def test_routers_inherit_a_loss_and_need_the_weights_of_all_that_they_evolved_from():
    origins = {5: frozenset({1, 2}), 6: frozenset({5, 3}), 7: frozenset({4})}
    assert find_indebted_routers([(1, 3)], origins) == {1, 2, 3, 5, 6}
    assert find_indebted_routers([(4, 1)], origins) == {4, 7}
    assert find_indebted_routers([(6, 1)], origins) == {3, 5, 6}
    assert find_indebted_routers([], origins) == set()
    assert find_indebted_routers([(8, 1)], {8: frozenset({8, 9})}) == {8, 9}
