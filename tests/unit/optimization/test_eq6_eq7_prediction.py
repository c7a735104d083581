"""Eq. 6 and 7: the choice between two, and the reward."""

import pytest

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.optimization.prediction import predict
from propagation.ports.reasoner import Prediction
from tests.unit.parties import NEGATIVE, item, line, party, user, work


class AlwaysFirst(OfflineReasoner):
    """Answers by position, as a lazy model does."""

    def __init__(self):
        super().__init__()
        self.shown = []

    async def predict(self, work, user, first, second, scores):
        self.shown.append((first.client.ref, scores))
        return Prediction(chose_first=True)


def parties():
    return party(user(), line(1, "jazz")), party(item(), line(1, "jazz")), party(item(NEGATIVE), line(1, "opera"))


@pytest.mark.parametrize(("scores", "reward"), [((0.7, 0.2), 1), ((0.2, 0.7), 0)])
async def test_the_offline_choice_compares_the_scores_that_learn_stored(scores, reward):
    for sequence in range(20):
        assert await predict(OfflineReasoner(), work(sequence, scores=scores), *parties(), seed=7) == reward


async def test_without_scores_the_profiles_shared_attributes_decide():
    assert await predict(OfflineReasoner(), work(scores=None), *parties(), seed=7) == 1


async def test_candidates_come_in_seeded_random_order_so_that_a_position_says_nothing():
    reasoner = AlwaysFirst()
    rewards = [await predict(reasoner, work(sequence), *parties(), seed=7) for sequence in range(200)]
    assert 60 < sum(rewards) < 140
    assert rewards == [await predict(AlwaysFirst(), work(sequence), *parties(), seed=7) for sequence in range(200)]
    assert {(ref, scores) for ref, scores in reasoner.shown} == {(item().ref, (0.7, 0.2)), (NEGATIVE, (0.2, 0.7))}
