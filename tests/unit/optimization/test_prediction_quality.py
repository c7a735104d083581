"""Planted predictors are judged as what they are; nobody is warned about a good one."""

from random import Random

import pytest

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.optimization.prediction import is_positive_first, receive_and_predict
from propagation.optimization.prediction_quality import (
    LEAST_PREDICTIONS,
    Judgement,
    PredictionCounts,
    count_predictions,
    describe_judgement,
    encode_prediction,
    judge_predictions,
)
from tests.unit.optimization.test_eq6_eq7_prediction import AlwaysFirst, parties
from tests.unit.parties import work

SEED = 7


def plant(count, right_share=None, first_share=None, seed=1):
    """Encode predictions that are right, or take the first place, with a probability."""
    random = Random(seed)
    digits = []
    for sequence in range(count):
        positive_first = is_positive_first(sequence, SEED)
        if right_share is not None:
            reward = random.random() < right_share
        else:
            reward = (random.random() < first_share) == positive_first
        digits.append(encode_prediction(sequence, int(reward), SEED))
    return "".join(digits)


async def encode_of(reasoner, count):
    digits = []
    for sequence in range(count):
        result = await receive_and_predict(reasoner, work(sequence), parties(), SEED)
        digits.append(encode_prediction(sequence, result.reward, SEED))
    return count_predictions("".join(digits))


async def test_the_place_that_a_reasoner_chose_follows_from_the_reward():
    assert (await encode_of(AlwaysFirst(), 300)).first == 300
    right = await encode_of(OfflineReasoner(), 300)
    assert (right.predictions, right.right) == (300, 300)
    assert 120 < right.first < 180


@pytest.mark.parametrize(
    ("planted", "judged"),
    [
        ({"first_share": 1.0}, Judgement.BY_PLACE),
        ({"first_share": 0.0}, Judgement.BY_PLACE),
        ({"first_share": 0.75}, Judgement.BY_PLACE),
        ({"right_share": 0.5}, Judgement.AT_CHANCE),
        ({"right_share": 0.2}, Judgement.AT_CHANCE),
        ({"right_share": 0.7}, Judgement.ABOVE_CHANCE),
        ({"right_share": 1.0}, Judgement.ABOVE_CHANCE),
    ],
)
def test_planted_predictors(planted, judged):
    for seed in range(5):
        assert judge_predictions(count_predictions(plant(400, **planted, seed=seed))) is judged
    early = count_predictions(plant(LEAST_PREDICTIONS - 1, **planted))
    assert judge_predictions(early) is Judgement.UNDECIDED
    assert describe_judgement("m", early) == ""


def test_the_limits_of_the_rule():
    """With 400 predictions a standard error is .025."""

    def judge(right, first):
        return judge_predictions(PredictionCounts(400, right, first))

    assert judge(219, 200) is Judgement.AT_CHANCE
    assert judge(220, 200) is Judgement.ABOVE_CHANCE, "two standard errors"
    assert judge(200, 230) is Judgement.AT_CHANCE, "three standard errors, and not more"
    assert judge(200, 231) is Judgement.BY_PLACE
    assert judge(240, 279) is Judgement.ABOVE_CHANCE, "what is right explains more than half of it"
    assert judge(240, 280) is Judgement.BY_PLACE
    assert judge(240, 120) is Judgement.BY_PLACE, "the second place is a place, too"
    assert judge(280, 300) is Judgement.ABOVE_CHANCE, "right in .70, the first in .75"


def test_a_good_predictor_is_almost_never_called_one_by_place():
    """At each of its predictions from the 200th to the 1,000th."""
    wrong = 0
    for seed in range(20):
        digits = plant(1_000, right_share=0.7, seed=seed)
        wrong += any(
            judge_predictions(count_predictions(digits[:count])) is not Judgement.ABOVE_CHANCE
            for count in range(LEAST_PREDICTIONS, 1_000, 50)
        )
    assert wrong == 0


def test_the_sentence_has_the_figures():
    counts = PredictionCounts(200, 101, 198)
    assert describe_judgement("openai:m", counts) == (
        "openai:m answers by place: it chose the first of two candidates in 99% of the cases, and"
        " of its last 200 predictions 50% (± 4%) were right (chance: 50%)"
    )
    assert "not seen to predict better than chance" in describe_judgement(
        "m", PredictionCounts(200, 101, 99)
    )
    assert describe_judgement("m", PredictionCounts(200, 150, 99)) == ""
    assert PredictionCounts(200, 150, 99).standard_error == pytest.approx(0.0306, abs=1e-4)
    assert PredictionCounts().share_right == PredictionCounts().standard_error == 0
