"""AgentCF's optimization: order, memories, calls, and what is never changed."""

import asyncio
import random
from itertools import pairwise

import numpy as np
import pytest

from propagation.laboratory.agentcf.asked import Asked
from propagation.laboratory.agentcf.learning.interaction import Interaction, Pair
from propagation.laboratory.agentcf.learning.negatives import NONE, draw_negatives
from propagation.laboratory.agentcf.learning.schedule import Step, find_dependencies, run_in_order
from propagation.laboratory.agentcf.learning.simulation import Simulation
from propagation.laboratory.agentcf.memory import START, Agents
from propagation.laboratory.agentcf.method import find_last_steps, list_pairs
from propagation.laboratory.agentcf.prompts.choose import Choice, read_choice
from propagation.laboratory.agentcf.prompts.rank import Order, read_order
from propagation.laboratory.agentcf.variant import Variant
from propagation.laboratory.history import History
from propagation.laboratory.protocols.last_events import split_last
from propagation.model import ReasonerUnavailable
from tests.unit.laboratory.planted_agentcf import (
    Planted,
    ScriptedAsk,
    build_titled_dataset,
    name_item,
)

PAIR = Pair(user=3, positive=7, negative=1)


class Choosing(Planted):
    """Chooses as listed: True is the positive item, None is unusable."""

    def __init__(self, *choices):
        super().__init__()
        self._choices = iter(choices)

    def answer(self, data):
        if "first_item" not in data:
            return super().answer(data)
        right = next(self._choices)
        explanation = "Its features agree with what this person enjoys."
        return (
            {}
            if right is None
            else {"selection": {"choice": 1 + right, "explanation": explanation}}
        )


async def interact(choices, variant=None):
    """Run one interaction, and return its choices, its agents and the labels asked."""
    dataset = build_titled_dataset()
    ask = ScriptedAsk(Choosing(*choices))
    agents = Agents(dataset.items)
    interaction = Interaction(variant or Variant(), agents, Asked(ask))
    done = await interaction.run(PAIR)
    labels = [one.prompt.label.split("@")[0].removeprefix("agentcf-") for one in ask.asked]
    return done, agents, labels, ask


@pytest.mark.parametrize(
    ("choices", "asked", "published"),
    [
        ([True], ["choose", "user-right", "item-right"], 5),
        (
            [False, True],
            ["choose", "user-wrong", "item-wrong", "choose", "item-right"],
            5,
        ),
        (
            [False, False],
            ["choose", "user-wrong", "item-wrong", "choose", "user-wrong", "item-wrong"],
            6,
        ),
        ([None], ["choose"], None),
        ([False, None], ["choose", "user-wrong", "item-wrong", "choose"], None),
    ],
)
async def test_an_interaction_asks_no_more_than_the_published_code(choices, asked, published):
    done, _, labels, _ = await interact(choices)
    assert labels == asked
    assert done.right == choices
    assert published is None or len(labels) <= published


async def test_only_the_user_and_the_positive_item_change():
    _, agents, _, ask = await interact([False, True])
    assert list(agents.users) == [PAIR.user]
    assert list(agents.items) == [PAIR.positive]
    memory = agents.users[PAIR.user]
    assert memory.long_term == [START]
    assert name_item(PAIR.positive) in memory.short_term
    assert ask.count("user-wrong") == 1


async def test_the_popular_negative_is_shown_first_and_memories_reach_the_next_choice():
    _, _, _, ask = await interact([False, True])
    first, second = [one.data for one in ask.asked if "first_item" in one.data]
    for data in (first, second):
        assert data["first_item"]["title"] == name_item(PAIR.negative)
        assert data["second_item"]["title"] == name_item(PAIR.positive)
    assert first["user"]["self_introduction"] == START
    assert name_item(PAIR.positive) in second["user"]["self_introduction"]
    assert name_item(PAIR.positive) in second["second_item"]["description"]
    assert second["first_item"] == first["first_item"]


async def test_the_item_reflects_by_the_users_new_memory():
    _, _, _, ask = await interact([False, True])
    user, item = ask.asked[1], ask.asked[2]
    assert user.data["user"]["self_introduction"] == START
    assert name_item(PAIR.positive) in item.data["user"]["self_introduction"]


@pytest.mark.parametrize(
    ("variant", "asked"),
    [
        (Variant(interacts=False), ["user-record", "item-record"]),
        (Variant(user_agents=False), ["choose", "item-wrong", "choose", "item-right"]),
        (Variant(item_agents=False), ["choose", "user-wrong", "choose"]),
        (Variant(rounds=1), ["choose", "user-wrong", "item-wrong"]),
    ],
)
async def test_an_ablation_leaves_out_its_part_and_nothing_else(variant, asked):
    _, agents, labels, ask = await interact([False, True], variant)
    assert labels == asked
    assert bool(agents.users) == variant.user_agents
    assert bool(agents.items) == variant.item_agents
    if not variant.user_agents:
        assert all("self_introduction" not in one.data["user"] for one in ask.asked)
    if not variant.interacts:
        assert all("explanation" not in one.data for one in ask.asked)


async def test_an_unusable_reflection_changes_nothing_and_is_counted():
    class Silent(Choosing):
        def answer(self, data):
            return super().answer(data) if "first_item" in data else {}

    agents = Agents(build_titled_dataset().items)
    asked = Asked(ScriptedAsk(Silent(True)))
    await Interaction(Variant(), agents, asked).run(PAIR)
    assert (agents.users[PAIR.user].short_term, agents.items) == (START, {})
    assert asked.invalid.total() == 2
    assert asked.calls.total() == 3


async def test_an_endpoint_that_answers_nothing_ends_the_simulation():
    async def ask(question):
        raise ReasonerUnavailable("the budget is spent")

    dataset = build_titled_dataset()
    history, _ = split_last(dataset)
    simulation = Simulation(Variant(), Agents(dataset.items), Asked(ask))
    with pytest.raises(ReasonerUnavailable, match="the budget is spent"):
        await simulation.run(list_pairs(history, 1))


async def simulate(variant, delay_seed, in_flight, pairs, dataset):
    ask = ScriptedAsk(Planted(0.5, unusable=0.05), random.Random(delay_seed), in_flight)
    agents = Agents(dataset.items)
    done = await Simulation(variant, agents, Asked(ask)).run(pairs)
    return agents.users, agents.items, done, ask.most_at_once


@pytest.mark.parametrize("variant", [Variant(), Variant(user_agents=False)])
async def test_the_result_does_not_depend_on_timing(variant):
    """It is that of one interaction after the other, whatever the delays."""
    dataset = build_titled_dataset(users=15, items=25, each=4)
    history, _ = split_last(dataset)
    pairs = list_pairs(history, 1)
    agents = Agents(dataset.items)
    alone = Interaction(variant, agents, Asked(ScriptedAsk(Planted(0.5, unusable=0.05))))
    expected = [await alone.run(pair) for pair in pairs]
    for delay_seed, in_flight in ((1, 1), (2, 3), (3, 50)):
        users, items, done, at_once = await simulate(variant, delay_seed, in_flight, pairs, dataset)
        assert (users, items, done) == (agents.users, agents.items, expected)
        assert at_once <= in_flight
    assert at_once > 3, "users run side by side"


async def test_interactions_run_side_by_side_only_if_they_share_nothing_that_changes():
    running, shared = set(), []
    draw = np.random.default_rng(3)

    def make(place, changes, reads):
        async def run():
            for other, others, theirs in running:
                if set(changes) & {*others, *theirs} or set(reads) & set(others):
                    shared.append((place, other))
            running.add((place, changes, reads))
            for _ in range(int(draw.integers(1, 5))):
                await asyncio.sleep(0)
            running.discard((place, changes, reads))

        return Step(run, changes, reads)

    steps = [
        make(place, tuple(draw.integers(0, 12, 2).tolist()), (int(draw.integers(0, 12)),))
        for place in range(200)
    ]
    await run_in_order(steps)
    assert not shared


def test_a_step_waits_for_what_it_needs():
    def step(changes, reads=()):
        return Step(lambda: None, changes, reads)

    steps = [step("a"), step("b", "a"), step("c", "a"), step("a"), step("d"), step("d", "a")]
    assert find_dependencies(steps) == [[], [0], [0], [0, 1, 2], [], [3, 4]]


def test_negatives_are_popular_new_to_the_user_and_drawn_by_the_seed():
    history, _ = split_last(build_titled_dataset(users=400))
    had = history.list_items_by_user()
    negatives = draw_negatives(history, 1)
    assert np.array_equal(negatives, draw_negatives(history, 1))
    assert not np.array_equal(negatives, draw_negatives(history, 2))
    assert not any(
        negative in had[user]
        for user, negative in zip(history.user.tolist(), negatives.tolist(), strict=True)
    )
    counts = np.bincount(history.item, minlength=history.items)
    expected = np.zeros(history.items)
    for user in history.user.tolist():
        mass = counts.astype(float)
        mass[had[user]] = 0
        expected += mass / mass.sum()
    drawn = np.bincount(negatives, minlength=history.items)
    assert (np.abs(drawn - expected) < 4 * np.sqrt(expected + 1)).all()


def test_a_user_who_has_everything_gets_no_negative():
    rows = np.array([0, 0, 1])
    history = History(2, 2, rows, np.array([0, 1, 0]), rows * 0, np.arange(3))
    assert draw_negatives(history, 1).tolist() == [NONE, NONE, 1]


def test_the_last_steps_are_those_of_users_with_so_many():
    user = np.array([0, 1, 0, 2, 0, 1, 0, 1])
    history = History(3, 8, user, np.arange(8), np.arange(8), np.arange(8))
    places, step = find_last_steps(history, 3)
    assert places.tolist() == [1, 2, 4, 5, 6, 7]
    assert step.tolist() == [0, 0, 1, 1, 2, 2]
    assert all(early < late for early, late in pairwise(places.tolist()))


class Checking:
    refused = ()

    def require_text(self, text):
        return text


@pytest.mark.parametrize("order", [[1, 2], [1, 2, 4], [0, 1, 2], []])
def test_an_order_that_leaves_something_out_is_not_completed(order):
    with pytest.raises(ValueError, match="each number from 1 to 3 once"):
        read_order(Order(order=order), 3)


def test_a_number_counts_where_it_comes_first():
    assert read_order(Order(order=[2, 1, 2, 3]), 3) == [1, 0, 2]


@pytest.mark.parametrize("choice", [0, 3, -1])
def test_a_choice_of_neither_item_is_unusable(choice):
    with pytest.raises(ValueError, match="the items are 1 and 2"):
        read_choice(Choice(choice=choice, explanation="It is better."), Checking())


def test_a_choice_without_an_explanation_is_unusable():
    with pytest.raises(ValueError, match="the text is empty"):
        read_choice(Choice(choice=1, explanation=" "), Checking())
