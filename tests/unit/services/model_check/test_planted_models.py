"""Models whose answers are planted: their figures follow by hand."""

import json
from math import sqrt

import pytest

ECHO = "You keep short text profiles of the users and items."
LOOP = "It is soul soul soul soul soul and so on."


def choose(answer, choice):
    """The answer with this choice, if it has one."""
    if "prediction" not in answer:
        return answer
    return {**answer, "prediction": {"choice": choice, "why": "The profile speaks for it."}}


def find_chosen(data, truth):
    """The number of the pair, and the place of what its user chose."""
    lines = json.dumps(list(data["user"]["profile"].values()))
    number, title = truth[lines]
    return number, 1 if data["candidate_1"]["title"] == title else 2


def replace_texts(value, text):
    """The answer with every text that could be stored replaced."""
    if isinstance(value, dict):
        return {
            name: text
            if name in ("text", "gradient", "filter_gradient")
            else replace_texts(one, text)
            for name, one in value.items()
        }
    return [replace_texts(one, text) for one in value] if isinstance(value, list) else value


async def test_a_model_that_takes_the_first(plant, check):
    plant(lambda data, answer: choose(answer, 1))
    report = await check()
    choices = report.figures.choices
    assert (choices.asked, choices.answered, choices.pairs) == (36, 36, 18)
    assert (choices.right, choices.error) == (0.5, 0.0)
    assert (choices.first, choices.by_place) == (1.0, 1.0)
    assert report.advice == (
        "This model answers by place (100% of pairs), so its predictions mean nothing: set"
        " openai.predict=offline."
    )


async def test_the_model_is_checked_whatever_the_service_would_ask_of_it(plant, check):
    plant(lambda data, answer: choose(answer, 1))
    report = await check(predict="offline", clients_a_call=1)
    assert report.figures.choices.answered == 36
    assert [one.clients_a_call for one in report.figures.names] == [1, 4, 10]


async def test_a_model_that_is_right_about_14_of_18_users(plant, check, truth):
    def answer_well(data, answer):
        if "prediction" not in answer:
            return answer
        number, place = find_chosen(data, truth)
        return choose(answer, place if number < 14 else 3 - place)

    plant(answer_well)
    report = await check()
    choices = report.figures.choices
    assert choices.right == pytest.approx(14 / 18)
    # A pair counts 0 or 1 as a whole, so this is the standard error of a share of 18.
    assert choices.error == pytest.approx(sqrt(14 / 18 * 4 / 18 / 17))
    assert (choices.first, choices.by_place) == (0.5, 0.0)
    assert report.advice == "This model can be used with the settings that suit."


async def test_a_model_that_is_right_about_9_of_18_users(plant, check, truth):
    def answer_half(data, answer):
        if "prediction" not in answer:
            return answer
        number, place = find_chosen(data, truth)
        return choose(answer, place if number % 2 else 3 - place)

    plant(answer_half)
    report = await check()
    assert report.figures.choices.right == 0.5
    assert report.advice == (
        "This model is at chance (0.50, standard error 0.12): set openai.predict=offline."
    )


async def test_good_answers_are_all_usable(check):
    figures = (await check()).figures
    validity = figures.validity
    assert validity.accepted == validity.parts
    assert (validity.echoes, validity.repetitions) == (0, 0)
    assert [cost.calls for cost in figures.costs] == [1, 2, 1, 1, 1]
    assert [(one.clients_a_call, one.items, one.own) for one in figures.names] == [
        (1, 10, 10),
        (4, 8, 8),
        (10, 10, 10),
    ]


@pytest.mark.parametrize(("text", "counted"), [(ECHO, "echoes"), (LOOP, "repetitions")])
async def test_a_model_whose_texts_are_all_degenerate(plant, check, text, counted):
    plant(lambda data, answer: replace_texts(answer, text))
    report = await check()
    validity = report.figures.validity
    counts = {"echoes": validity.echoes, "repetitions": validity.repetitions}
    assert counts.pop(counted) == validity.texts > 0
    assert list(counts.values()) == [0]
    # Only the predictions of 36 choices and 5 interactions are left.
    assert validity.accepted == 41
    assert validity.parts - validity.texts == 41
    # What is degenerate is asked for once more: each description, and both calls of an interaction.
    assert [cost.calls for cost in report.figures.costs] == [1, 4, 2, 2, 2]
    assert report.advice.startswith("Only 44% of this model's answers can be used")


async def test_a_model_that_swaps_the_items_of_a_call(plant, check, truth):
    def swap(data, answer):
        if "prediction" in answer:
            return choose(answer, find_chosen(data, truth)[1])
        if "client_1" not in data:
            return answer
        names = list(answer)
        return {
            name: answer[following]
            for name, following in zip(names, names[1:] + names[:1], strict=True)
        }

    plant(swap)
    report = await check()
    assert [
        (one.clients_a_call, one.items, one.own, one.other) for one in report.figures.names
    ] == [(1, 10, 10, 0), (4, 8, 0, 8), (10, 10, 0, 10)]
    assert report.settings.clients_a_call == 1
    assert report.advice == (
        "This model takes items of one call for each other: use preset=small-model."
    )


async def test_a_fallback_does_not_answer_for_the_model(plant, check):
    plant(lambda data, answer: {**answer, "prediction": {}} if "prediction" in answer else answer)
    report = await check(fallback="unavailable")
    assert report.figures.choices.answered == 0
    assert report.figures.choices.right is None
    assert report.advice.startswith("Only 56% of this model's answers can be used")


async def test_the_paper_s_prompts_one_by_one(check):
    report = await check(fused=False)
    [interaction] = [one for one in report.figures.costs if one.work == "interaction"]
    # One client heard something: a merge, a prediction, three gradients, three profiles, a filter.
    assert interaction.calls == 9
    assert report.figures.validity.accepted == report.figures.validity.parts


async def test_calls_that_the_context_splits_are_shown_as_they_were_made(check):
    report = await check(context_tokens=2_048)
    sizes = [one.clients_a_call for one in report.figures.names]
    assert sizes[0] == 1
    assert 1 < sizes[-1] < 10
    described = [one.work for one in report.figures.costs][2:]
    assert described == [f"description by {size}" for size in sizes]
    assert sum(one.items for one in report.figures.names) == 28
    assert report.estimate.hours > 0
