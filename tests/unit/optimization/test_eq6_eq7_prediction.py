"""Eq. 6 and 7: the choice between two, and the reward."""

from dataclasses import replace

import pytest

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import ReasonerFailed
from propagation.optimization.prediction import receive_and_predict
from tests.unit.parties import NEGATIVE, item, line, message, party, user, work


class AlwaysFirst(OfflineReasoner):
    """Answers by position, as a lazy model does."""

    def __init__(self):
        super().__init__()
        self.shown = []

    async def forward(self, work, user, candidates, scores):
        self.shown.append((candidates[0].client.ref, scores))
        answer = await super().forward(work, user, candidates, scores)
        return replace(answer, prediction=True)


async def predict(reasoner, step):
    return (await receive_and_predict(reasoner, step, parties(), seed=7)).reward


def parties():
    return (
        party(user(), line(1, "jazz")),
        party(item(), line(1, "jazz")),
        party(item(NEGATIVE), line(1, "opera")),
    )


@pytest.mark.parametrize(("scores", "reward"), [((0.7, 0.2), 1), ((0.2, 0.7), 0)])
async def test_the_offline_choice_compares_the_scores_that_learn_stored(scores, reward):
    for sequence in range(20):
        assert await predict(OfflineReasoner(), work(sequence, scores=scores)) == reward


async def test_without_scores_the_profiles_shared_attributes_decide():
    assert await predict(OfflineReasoner(), work(scores=None)) == 1


async def test_candidates_come_in_seeded_random_order_so_that_a_position_says_nothing():
    reasoner = AlwaysFirst()
    rewards = [await predict(reasoner, work(sequence)) for sequence in range(200)]
    assert 60 < sum(rewards) < 140
    assert rewards == [await predict(AlwaysFirst(), work(sequence)) for sequence in range(200)]
    assert {(ref, scores) for ref, scores in reasoner.shown} == {
        (item().ref, (0.7, 0.2)),
        (NEGATIVE, (0.2, 0.7)),
    }


async def test_merges_come_back_in_the_order_of_the_parties_whatever_was_shown_first():
    told = [
        replace(one, messages=(message(router, "soul"),)) for router, one in enumerate(parties())
    ]
    for sequence in range(20):
        result = await receive_and_predict(OfflineReasoner(), work(sequence), told, seed=7)
        assert [list(answer.outcomes) for answer in result.merges] == [[(0, 1)], [(1, 1)], [(2, 1)]]


async def test_without_a_negative_there_is_nothing_to_predict():
    result = await receive_and_predict(
        OfflineReasoner(), work(negative=None), parties()[:2], seed=7
    )
    assert (len(result.merges), result.reward) == (2, None)


class Speechless(OfflineReasoner):
    """Merges, and fails to predict."""

    async def forward(self, work, user, candidates, scores):
        answer = await super().forward(work, user, candidates, scores)
        return replace(answer, prediction=ReasonerFailed("no choice"))


async def test_a_failed_prediction_is_neither_right_nor_wrong():
    with pytest.raises(ReasonerFailed, match="no choice"):
        await predict(Speechless(), work())
