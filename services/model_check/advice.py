"""What follows from the figures: costs, settings, and one sentence."""

import math
from collections.abc import Sequence

from pydantic import BaseModel

from propagation.adapters.openai.options import OpenAIOptions
from propagation.optimization.prediction_quality import CHANCE, follows_place
from propagation.plurals import pluralize
from services.model_check.figures import Choices, Cost, Figures, Names, divide

USABLE_SHARE = 0.8
PLACE_SHARE = 0.75
SWAPPED_SHARE, OWN_SHARE, NAMED_SHARE = 0.05, 0.9, 0.5
KEPT_UP_SHARE, MOST_SLOWDOWN = 0.75, 1.2
LEAST_PAIRS = 10
TOKENS_STEP = 256
MORE_QUESTIONS = 300


class Estimate(BaseModel):
    """What a service would spend on the data, without rounds and evolution.

    Attributes:
        events: Interactions to reason about.
        items: Items to describe.
        tokens: All tokens, sent and received.
        hours: At the measured pace.
        money: By the prices of the settings; None if these are 0.
    """

    events: int
    items: int
    tokens: float
    hours: float
    money: float | None


class SuitableSettings(BaseModel):
    """Settings that suit a model.

    Attributes:
        clients_a_call: How many clients a call should describe.
        in_flight: For `openai.in_flight`.
        context_tokens: The least for `openai.context_tokens` that cuts no allowed answer.
    """

    clients_a_call: int
    in_flight: int
    context_tokens: int


def choose_settings(figures: Figures) -> SuitableSettings:
    """Choose settings by the figures."""
    clients_a_call = _choose_clients_a_call(figures.names, list(figures.context_tokens))
    needed = max(
        tokens for size, tokens in figures.context_tokens.items() if size <= clients_a_call
    )
    return SuitableSettings(
        clients_a_call=clients_a_call,
        in_flight=_choose_in_flight(figures),
        context_tokens=max(
            math.ceil(needed / TOKENS_STEP) * TOKENS_STEP, _get_least_context_tokens()
        ),
    )


def _choose_clients_a_call(names: Sequence[Names], sizes: Sequence[int]) -> int:
    """Choose the largest call in which items keep their names.

    They must do so about as well as in calls of their own.
    """
    if not names:  # no item has a title
        return max(sizes)
    alone = divide(names[0].own, names[0].items)
    if alone < NAMED_SHARE:
        return names[0].clients_a_call
    least_own = OWN_SHARE * alone
    good = [
        one.clients_a_call
        for one in names
        if one.other <= SWAPPED_SHARE * one.items and one.own >= least_own * one.items
    ]
    return max(good, default=names[0].clients_a_call)


def _choose_in_flight(figures: Figures) -> int:
    """Choose as many calls as the server answers at once.

    If it kept up with the calls of the check, or took no longer for each beside others, their
    number stays.
    """
    pace = figures.pace
    keeps_up = pace.capacity >= KEPT_UP_SHARE * pace.in_flight
    # The check may have had too few questions to keep so many calls in flight.
    if keeps_up or pace.seconds_together <= MOST_SLOWDOWN * pace.seconds_alone:
        return pace.in_flight
    return min(pace.in_flight, math.ceil(pace.capacity))


def _get_least_context_tokens() -> int:
    bounds = OpenAIOptions.model_fields["context_tokens"].metadata
    return next(int(bound.ge) for bound in bounds if hasattr(bound, "ge"))


def estimate_costs(
    figures: Figures, suitable: SuitableSettings, events: int, items: int, *, priced: bool
) -> Estimate:
    """Estimate time, tokens and money for the data."""
    costs = {cost.work: cost for cost in figures.costs}
    size = suitable.clients_a_call
    work: list[tuple[Cost, float]] = [
        (costs["interaction"], events),
        (costs[f"description by {size}"], items / size),
    ]
    money = sum(cost.money * times for cost, times in work)
    return Estimate(
        events=events,
        items=items,
        tokens=sum((cost.prompt_tokens + cost.completion_tokens) * times for cost, times in work),
        hours=sum(cost.seconds * times for cost, times in work) / figures.pace.at_once / 3600,
        money=money if priced else None,
    )


def give_advice(figures: Figures, suitable: SuitableSettings, *, is_small: bool = False) -> str:
    """Say in one sentence what to do with this model.

    Args:
        is_small: Whether the settings are those for small models already.
    """
    choices = figures.choices
    small = (
        not is_small
        and suitable.clients_a_call == 1
        and any(one.clients_a_call > 1 for one in figures.names)
    )
    usable = figures.validity.accepted_share
    by_place = _goes_by_place(choices)
    if choices.right is None or (usable < USABLE_SHARE and not by_place):
        instead = "" if is_small else ", or preset=small-model with openai.predict=offline"
        return (
            f"Only {usable:.0%} of this model's answers can be used as they are: use another"
            f" model{instead}."
        )
    if choices.error is None:
        return (
            f"The data has too few users to judge predictions ({choices.answered} choices): give"
            " --data a folder with more users, or leave it out."
        )
    texts = ", and preset=small-model for its texts" if small else ""
    if by_place:
        return (
            f"This model answers by place ({choices.by_place:.0%} of pairs), so its predictions"
            f" mean nothing: set openai.predict=offline{texts}."
        )
    if not choices.beats_chance:
        error = choices.error
        measured = f"({choices.right:.2f}, standard error {error:.2f})"
        if choices.pairs < LEAST_PAIRS:
            return (
                f"{pluralize(choices.pairs, 'pair')} of choices cannot tell this model from chance"
                f" {measured}: give --data a folder with more users, or leave it out."
            )
        if choices.right - CHANCE > error:
            return (
                f"This model may be better than chance {measured}: ask it more with --questions"
                f" {MORE_QUESTIONS}, or set openai.predict=offline{texts}."
            )
        how = "below" if CHANCE - choices.right > 2 * error else "at"
        return f"This model is {how} chance {measured}: set openai.predict=offline{texts}."
    alone = figures.names[0] if figures.names else None
    if alone and alone.own < NAMED_SHARE * alone.items:
        return (
            f"This model predicts, but only {divide(alone.own, alone.items):.0%} of its"
            " descriptions name their item: use another model for texts."
        )
    if small:
        return "This model takes items of one call for each other: use preset=small-model."
    return "This model can be used with the settings that suit."


def _goes_by_place(choices: Choices) -> bool:
    return (
        choices.right is not None
        and choices.by_place is not None
        and choices.by_place >= PLACE_SHARE
        and follows_place(choices.right, choices.by_place)
    )
