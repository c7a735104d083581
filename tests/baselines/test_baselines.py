"""Baselines from their libraries: as good as published, and nothing of the future."""

import os
from pathlib import Path

import numpy as np
import pytest

from propagation.datasets.load import load_dataset
from propagation.laboratory.experiments.recnet import LIGHT_BASELINES
from propagation.laboratory.history import Questions
from propagation.laboratory.protocols.last_events import split_last
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from services.config.settings import Settings
from services.laboratory.baselines import LIGHT
from services.laboratory.methods import build_methods
from tests.unit.laboratory.lab_data import ITEMS, build_dataset

ML100K = Path(
    os.environ.get("ML100K") or Path(__file__).parents[3] / "shared" / "datasets" / "ml-100k"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not LIGHT.find_python().exists(), reason="`make baselines` installs what this needs"
    ),
]
LEAST = {  # N@10 of 10 and of 100 candidates; bm25 has no published figure
    "pop": (0.672, 0.224),
    "itemknn": (0.755, 0.32),
    "ease": (0.789, 0.382),
    "als": (0.788, 0.378),
    "bpr": (0.785, 0.37),
}


def build(name, dataset):
    (method,) = build_methods([name], dataset, Settings(), lambda events: ())
    return method


@pytest.mark.parametrize("name", LIGHT_BASELINES)
async def test_a_baseline_scores_every_candidate_and_repeats_itself(name):
    history, targets = split_last(build_dataset())
    candidates = np.tile(np.arange(ITEMS), (len(targets.user), 1))
    questions = Questions(targets.user, targets.time, candidates)
    method = build(name, build_dataset())
    first, second = [await method.score(history, questions, 3) for _ in range(2)]
    assert first.shape == candidates.shape
    assert np.array_equal(first, second)
    own = targets.item[:, None] // (ITEMS // 2) == candidates // (ITEMS // 2)
    assert first[own].mean() > first[~own].mean(), "the two halves are told apart"


@pytest.mark.skipif(not ML100K.exists(), reason="MovieLens 100k is not here")
@pytest.mark.parametrize("name", LEAST)
async def test_a_baseline_is_as_good_as_it_must_be_on_movielens(name):
    dataset = load_dataset(ML100K, 7)
    history, targets = split_last(dataset)
    values = await LeaveOneOut().run(build(name, dataset), history, targets, 1)
    assert values["n10"].mean() >= LEAST[name][0]
    assert values["n10_of_100"].mean() >= LEAST[name][1]
