"""AFL's loop, question by question, with answers from a list."""

import json

import numpy as np
import pytest

from propagation.adapters.openai.answers.questions import Answered
from propagation.adapters.openai.prompting import build_schema
from propagation.laboratory.history import Questions
from propagation.laboratory.methods import Popularity
from propagation.laboratory.methods.afl import (
    Agents,
    FeedbackLoop,
    RecommendationAgent,
    UserAgent,
)
from propagation.laboratory.methods.afl.ports import INVALID
from propagation.laboratory.methods.afl.prompts import Chosen, Decided
from propagation.laboratory.methods.asking.shown_items import LATEST, ShownItems
from propagation.laboratory.methods.wrappers.item_scores import ItemScorer, compute_shares
from propagation.laboratory.protocols.last_events import split_last
from propagation.model import NO_USAGE, InvalidInput, ReasonerFailed, ReasonerUnavailable
from tests.unit.laboratory.lab_data import build_dataset
from tests.unit.laboratory.titled_data import build_titled_dataset

DATASET = build_titled_dataset(users=30, items=60, each=8)
HISTORY, TARGETS = split_last(DATASET)
ONE = Questions(TARGETS.user[:1], TARGETS.time[:1], np.arange(20)[None])


class Listed:
    """Answers from a list, and keeps the questions; a None is no usable answer."""

    def __init__(self, *answers):
        self.answers, self.questions = list(answers), []

    async def __call__(self, question):
        self.questions.append(question)
        answer = self.answers.pop(0)
        if answer is None:
            raise ReasonerFailed("nothing usable")
        if isinstance(answer, Exception):
            raise answer
        [part] = question.parts
        return Answered({part: answer}, NO_USAGE)


def build_agents(ask, base=True, reward=True):
    pop = ItemScorer(Popularity())
    return Agents(ask, "m", ShownItems(DATASET), pop if base else None, pop if reward else None)


async def choose(*answers, kind=FeedbackLoop, **models):
    ask = Listed(*answers)
    method = kind("afl(pop)", build_agents(ask, **models))
    chosen = await method.choose(HISTORY, ONE, 1)
    assert not ask.answers, "every answer was asked for"
    return chosen[0].tolist(), ask.questions


def no(reason="Too loud for me."):
    return Decided(False, reason)


async def test_a_yes_ends_the_loop():
    chosen, asked = await choose(Chosen(3, "It is calm."), Decided(True, "It is."))
    assert chosen == [3, 3, 3, 3]
    assert [one.prompt.label for one in asked] == ["afl_recommend@1", "afl_decide@1"]


async def test_after_a_no_both_agents_remember_the_round():
    chosen, asked = await choose(
        Chosen(3, "It is calm."), no(), Chosen(5, "It is quiet."), Decided(True, "Good.")
    )
    assert chosen == [3, 5, 5, 5]
    assert "earlier_rounds" not in asked[0].data
    assert "earlier_rounds" not in asked[1].data
    for question in asked[2:]:
        [round_] = question.data["earlier_rounds"]
        for text in ("In round 1,", "Record 3: jazz", "It is calm.", "Too loud for me."):
            assert text in round_


async def test_at_most_two_calls_an_iteration_and_one_in_the_last():
    answers = [one for place in range(3) for one in (Chosen(place, "So."), no())]
    chosen, asked = await choose(*answers, Chosen(9, "At last."))
    assert chosen == [0, 1, 2, 9]
    assert len(asked) == 7


async def test_the_recommendation_agent_alone_asks_once():
    chosen, asked = await choose(Chosen(4, "So."), kind=RecommendationAgent, reward=False)
    assert chosen == [4]
    assert len(asked) == 1


async def test_an_unusable_answer_makes_what_needs_it_invalid_and_nothing_else():
    assert (await choose(None))[0] == [INVALID] * 4
    assert (await choose(Chosen(2, "So."), None))[0] == [2, *[INVALID] * 3]
    assert (await choose(Chosen(2, "So."), no(), None))[0] == [2, *[INVALID] * 3]
    ask = Listed(None)
    scores = await RecommendationAgent("rec(pop)", build_agents(ask)).score(HISTORY, ONE, 1)
    assert np.isnan(scores).all()


async def test_a_model_that_is_down_is_an_error_and_no_answer():
    with pytest.raises(ReasonerUnavailable, match="down"):
        await choose(ReasonerUnavailable("down"))


async def test_prompts_have_the_hint_the_reward_and_the_reason_before_the_item():
    _, asked = await choose(Chosen(3, "It is calm."), Decided(True, "It is."))
    recommend, decide = asked
    count = np.bincount(HISTORY.item, minlength=HISTORY.items)
    assert recommend.data["suggested"] in {
        ShownItems(DATASET).show(item) for item in np.flatnonzero(count[:20] == count[:20].max())
    }
    assert list(recommend.data["choose_from"].values()) == decide.data["list"]
    had = HISTORY.list_items_by_user()[ONE.user[0]]
    unseen = np.delete(count, had)
    below = ((unseen < count[3]).sum() + (unseen <= count[3]).sum()) / 2
    assert decide.data["reward_score"] == pytest.approx(below / len(unseen), abs=0.005)
    assert decide.data["because"] == "It is calm."
    schema = build_schema(recommend.parts, bounded=True)["properties"]["recommendation"]
    assert list(schema["properties"]) == ["reason", "item"]
    assert schema["properties"]["item"]["enum"] == list(range(1, 21))
    schema = build_schema(decide.parts, bounded=True)["properties"]["decision"]
    assert list(schema["properties"]) == ["reason", "decision"]
    assert schema["properties"]["decision"]["enum"] == ["yes", "no"]


async def test_without_models_prompts_have_neither_hint_nor_score():
    _, asked = await choose(Chosen(3, "So."), Decided(True, "So."), base=False, reward=False)
    assert "suggested" not in asked[0].data
    assert "reward_score" not in asked[1].data


async def test_the_user_agent_alone_is_asked_about_each_item():
    ask = Listed(*[Decided(place < 4, "So.") for place in range(19)], None)
    method = UserAgent("user(pop)", build_agents(ask, base=False))
    decided = await method.decide(HISTORY, ONE, 1)
    assert decided[0, :19].tolist() == [1.0] * 4 + [0.0] * 15
    assert np.isnan(decided[0, 19])


def test_prompts_show_the_past_only_and_no_ids():
    histories = ShownItems(DATASET).list_histories(HISTORY)
    for user, item in zip(TARGETS.user.tolist(), TARGETS.item.tolist(), strict=True):
        assert ShownItems(DATASET).show(item) not in histories[user]
        own = HISTORY.item[HISTORY.user == user]
        newest = own[np.argsort(HISTORY.time[HISTORY.user == user])][::-1][:LATEST]
        assert histories[user] == [ShownItems(DATASET).show(one) for one in newest]
    assert '"i1' not in json.dumps(histories)


def test_items_without_titles_are_refused():
    with pytest.raises(InvalidInput, match="30 of the 30 items of two halves have no title"):
        ShownItems(build_dataset())


async def test_the_estimate_is_what_a_user_agent_costs_that_always_says_no():
    method = FeedbackLoop("afl(pop)", build_agents(Listed()))
    recommend, decide = method.estimate(HISTORY, ONE)
    assert (recommend.calls, decide.calls) == (4, 3)
    answers = [one for place in range(3) for one in (Chosen(place, "So."), no())]
    _, asked = await choose(*answers, Chosen(9, "At last."))
    sent = sum(len(one.prompt.instructions) + len(one.document) for one in asked) / 4
    assert sent < recommend.prompt_tokens + decide.prompt_tokens < 2 * sent


def test_shares_of_unseen_items_with_lower_scores():
    scores = np.array([5.0, 1.0, 1.0, 3.0, 9.0])
    assert compute_shares(scores, np.array([4])).tolist() == [7 / 8, 1 / 4, 1 / 4, 5 / 8, 1.0]
    assert compute_shares(np.ones(2), np.array([0, 1])).tolist() == [0.5, 0.5]
