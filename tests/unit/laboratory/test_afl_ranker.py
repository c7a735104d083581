"""A ranker in place of AFL's loop, question by question."""

import numpy as np
import pytest

from propagation.adapters.openai.answers.questions import Answered
from propagation.laboratory.history import Questions
from propagation.laboratory.methods import Popularity
from propagation.laboratory.methods.afl import Agents, RankedList, UserRanker
from propagation.laboratory.methods.afl.ports import INVALID
from propagation.laboratory.methods.afl.ranker import Shortlist, ask_list
from propagation.laboratory.methods.asking.shown_items import ShownItems
from propagation.laboratory.methods.wrappers.item_scores import ItemScorer
from propagation.laboratory.protocols.last_events import split_last
from propagation.model import NO_USAGE, ReasonerFailed
from tests.unit.laboratory.titled_data import build_titled_dataset

DATASET = build_titled_dataset(users=30, items=60, each=8)
HISTORY, TARGETS = split_last(DATASET)
ONE = Questions(TARGETS.user[:1], TARGETS.time[:1], np.arange(20)[None])
COUNT = np.bincount(HISTORY.item, minlength=HISTORY.items)


class Listed:
    """Answers with values from a list; a None is no usable answer."""

    def __init__(self, *answers):
        self.answers, self.questions = list(answers), []

    async def __call__(self, question):
        self.questions.append(question)
        answer = self.answers.pop(0)
        if answer is None:
            raise ReasonerFailed("nothing usable")
        [part] = question.parts
        return Answered({part: answer}, NO_USAGE)


def build_agents(ask):
    pop = ItemScorer(Popularity())
    return Agents(ask, "m", ShownItems(DATASET), pop, pop)


async def choose(method, ask):
    chosen = await method.choose(HISTORY, ONE, 1)
    assert not ask.answers, "every answer was asked for"
    assert sum(one.calls for one in method.estimate(HISTORY, ONE)) >= len(ask.questions)
    return chosen.tolist()


async def test_the_reward_model_takes_the_best_of_the_five_without_a_call():
    ask = Listed([17, 3, 9, 12, 5])
    chosen = await choose(RankedList("rec-rank(pop)", build_agents(ask), by_user=False), ask)
    best = COUNT[[17, 3, 9, 12, 5]].max()
    assert COUNT[chosen[0][0]] == best
    assert chosen[0][0] in (17, 3, 9, 12, 5)
    assert best < COUNT[:20].max(), "the best of all twenty is not among the five"


async def test_the_user_agent_sees_the_five_with_their_scores():
    ask = Listed([17, 3, 9, 12, 5], 12)
    chosen = await choose(RankedList("rec-user(pop)", build_agents(ask), by_user=True), ask)
    assert chosen == [[12]]
    shown = ask.questions[1].data
    texts = [ShownItems(DATASET).show(item) for item in (17, 3, 9, 12, 5)]
    assert list(shown["pick_from"].values()) == texts
    assert list(shown["reward_scores"]) == ["1", "2", "3", "4", "5"]
    read = ask.questions[1].parts["recommendation"].read
    assert read(type("A", (), {"item": 4})(), None) == 12, "the fourth of the five"
    with pytest.raises(ValueError, match="the items are 1 to 5"):
        read(type("A", (), {"item": 6})(), None)


async def test_the_user_agent_alone_picks_one_of_all():
    ask = Listed(7)
    assert await choose(UserRanker("user-rank(pop)", build_agents(ask)), ask) == [[7]]
    assert len(ask.questions[0].data["pick_from"]) == 20


@pytest.mark.parametrize("answers", [[None], [[1, 2, 3, 4, 5], None]])
async def test_an_unusable_answer_is_invalid(answers):
    ask = Listed(*answers)
    method = RankedList("rec-user(pop)", build_agents(ask), by_user=True)
    assert await choose(method, ask) == [[INVALID]]


@pytest.mark.parametrize("items", [[1, 2, 3, 4], [1, 2, 3, 4, 4], [1, 2, 3, 4, 21], []])
async def test_a_list_has_five_different_candidates(items):
    [case] = await build_agents(Listed()).prepare(HISTORY, ONE, 1)
    read = ask_list(case).parts["shortlist"].read
    assert read(Shortlist(reason="So.", items=[5, 4, 3, 2, 20]), None) == [4, 3, 2, 1, 19]
    with pytest.raises(ValueError, match="5 different numbers from 1 to 20"):
        read(Shortlist(reason="So.", items=items), None)
