"""Time, money, settings and the sentence follow from the figures."""

import pytest

from propagation.model import PromptCost, Usage
from services.model_check.advice import choose_settings, estimate_costs, give_advice
from services.model_check.figures import (
    Choices,
    Cost,
    EndpointPace,
    Figures,
    Names,
    Validity,
    compute_choices,
)
from services.model_check.run import ChoiceAnswer

GOOD = {
    "validity": Validity(parts=100, accepted=95, texts=60, echoes=0, repetitions=0),
    "choices": Choices(
        asked=36, answered=36, right=0.8, error=0.08, first=0.5, pairs=18, by_place=0.2
    ),
    "names": [
        Names(clients_a_call=1, items=10, own=9, other=0),
        Names(clients_a_call=4, items=20, own=18, other=1),
        Names(clients_a_call=10, items=10, own=5, other=3),
    ],
    "costs": [
        Cost(
            work=work,
            questions=5,
            calls=2,
            seconds_a_call=seconds / 2,
            seconds=seconds,
            prompt_tokens=sent,
            completion_tokens=received,
            money=money,
        )
        for work, seconds, sent, received, money in [
            ("choice", 1, 300, 50, 0.001),
            ("interaction", 12, 1_500, 500, 0.004),
            ("description by 1", 3, 250, 100, 0.001),
            ("description by 4", 8, 400, 400, 0.002),
            ("description by 10", 20, 700, 900, 0.004),
        ]
    ],
    "pace": EndpointPace(
        in_flight=8, at_once=6, seconds_alone=1.0, seconds_together=3.0, capacity=2.0
    ),
    "context_tokens": {0: 2_900, 1: 700, 4: 3_000, 10: 6_000},
}


def figures(**changed):
    return Figures(**(GOOD | changed))


def test_settings_that_suit():
    suitable = choose_settings(figures())
    assert suitable.clients_a_call == 4  # at 10 a call three of ten are swapped
    assert suitable.in_flight == 2
    assert suitable.context_tokens == 3_072  # 3,000 in steps of 256; 10 a call are not needed


def test_a_server_that_keeps_up_gets_as_many_calls():
    pace = EndpointPace(
        in_flight=8, at_once=7.9, seconds_alone=1, seconds_together=1.2, capacity=6.6
    )
    assert choose_settings(figures(pace=pace)).in_flight == 8


def test_a_server_that_is_not_slower_beside_others_keeps_its_calls():
    pace = EndpointPace(
        in_flight=8, at_once=4.0, seconds_alone=0.05, seconds_together=0.05, capacity=4.0
    )
    assert choose_settings(figures(pace=pace)).in_flight == 8


def test_hours_and_money():
    measured = figures()
    estimate = estimate_costs(measured, choose_settings(measured), 900, 400, priced=True)
    # 900 interactions of 12 s and 100 descriptions of 4 items in 8 s, six at once.
    assert estimate.hours == pytest.approx((900 * 12 + 100 * 8) / 6 / 3600)
    assert estimate.tokens == pytest.approx(900 * 2_000 + 100 * 800)
    assert estimate.money == pytest.approx(900 * 0.004 + 100 * 0.002)
    unpriced = estimate_costs(measured, choose_settings(measured), 900, 400, priced=False)
    assert unpriced.money is None


def choices(**changed):
    return GOOD["choices"].model_copy(update=changed)


@pytest.mark.parametrize(
    ("changed", "start"),
    [
        ({}, "This model can be used with the settings that suit."),
        (
            {"names": [GOOD["names"][0], Names(clients_a_call=4, items=10, own=4, other=5)]},
            "This model takes items of one call for each other: use preset=small-model.",
        ),
        (
            {"choices": choices(right=0.61, error=0.05, by_place=0.78)},
            "This model answers by place (78% of pairs), so its predictions mean nothing:",
        ),
        ({"names": GOOD["names"][:2]}, "This model can be used with the settings that suit."),
        (
            {"choices": choices(right=0.5, error=0.0, by_place=1.0)},
            "This model answers by place (100% of pairs), so its predictions mean nothing:",
        ),
        (
            {"choices": choices(right=0.6, error=0.08)},
            "This model may be better than chance (0.60, standard error 0.08): ask it more",
        ),
        (
            {"choices": choices(right=1.0, error=None, answered=2)},
            "The data has too few users to judge predictions (2 choices): give --data",
        ),
        ({"choices": choices(right=0.55, error=0.08)}, "This model is at chance (0.55, "),
        ({"choices": choices(right=0.2, error=0.08)}, "This model is below chance (0.20, "),
        (
            {"choices": choices(right=0.67, error=0.21, pairs=6)},
            "6 pairs of choices cannot tell this model from chance (0.67, standard error 0.21):",
        ),
        (
            {
                "validity": GOOD["validity"].model_copy(update={"accepted": 79}),
                "choices": choices(right=0.5, error=0.0, by_place=1.0),
            },
            "This model answers by place (100% of pairs)",
        ),
        (
            {"names": [Names(clients_a_call=n, items=10, own=0, other=0) for n in (1, 4, 10)]},
            "This model predicts, but only 0% of its descriptions name their item:",
        ),
        (
            {"validity": GOOD["validity"].model_copy(update={"accepted": 79})},
            "Only 79% of this model's answers can be used as they are: use another model,",
        ),
    ],
)
def test_the_sentence(changed, start):
    measured = figures(**changed)
    assert give_advice(measured, choose_settings(measured)).startswith(start)


def test_nobody_is_told_to_use_the_preset_that_is_used():
    swapped = [GOOD["names"][0], Names(clients_a_call=4, items=10, own=4, other=5)]
    unusable = GOOD["validity"].model_copy(update={"accepted": 79})
    for changed in ({"names": swapped}, {"validity": unusable}):
        measured = figures(**changed)
        suitable = choose_settings(measured)
        assert "small-model" in give_advice(measured, suitable)
        assert "small-model" not in give_advice(measured, suitable, is_small=True)


def test_descriptions_that_never_name_their_item_suit_no_large_call():
    nothing = [Names(clients_a_call=n, items=10, own=0, other=0) for n in (1, 4, 10)]
    assert choose_settings(figures(names=nothing)).clients_a_call == 1


def answer(pair, chosen_first, picked_first):
    return ChoiceAnswer(pair, chosen_first, picked_first, Usage((("predict@3", PromptCost(1)),)))


def test_lost_choices_do_not_count():
    found = compute_choices(
        [
            answer(0, True, True),
            answer(0, False, False),
            answer(1, True, True),
            answer(1, False, True),
            answer(2, True, None),
            answer(2, False, True),
        ]
    )
    assert (found.asked, found.answered, found.pairs) == (6, 5, 2)
    assert found.right == 3 / 5  # both, one of two, none of one
    assert found.first == 4 / 5
    assert found.by_place == 1 / 2
    # Sums of right answers minus .6 for each: .8, -.2 and -.6; times 3/2; over 5 answers.
    assert found.error == pytest.approx((1.5 * (0.64 + 0.04 + 0.36)) ** 0.5 / 5)
