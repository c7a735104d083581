"""Explanations in words mention only facts of the item."""

import numpy as np
import pytest

from propagation.numbers.ranking.rank import Ranked
from propagation.numbers.rules import FEATURES, Feature
from propagation.workflow.read.explanation import (
    NO_REASON,
    Explainer,
    ScorePart,
    explain_in_words,
)
from propagation.workflow.read.scoring import ReadRequest, ReadResult
from propagation.workflow.views import OFF, Catalogue


def part(feature, raw, value, weight):
    return ScorePart(feature, raw, value, weight, value * weight, users=9)


@pytest.mark.parametrize(
    ("feature", "raw"),
    [
        (Feature.POPULARITY, 0.0),
        (Feature.RECENT, -1.6),
        (Feature.ADOPTERS, -0.15),
        (Feature.LIFT_SESSION, -1.586),
        (Feature.LIFT_TASTE, -0.081),
    ],
)
def test_a_feature_that_the_item_lacks_is_not_mentioned(feature, raw):
    assert explain_in_words([part(feature, raw, -1.6, -0.8)], [], [], cold=False) == NO_REASON


@pytest.mark.parametrize(
    "feature", [Feature.LIFT_TASTE, Feature.LIFT_SESSION, Feature.PROFILE, Feature.CONTENT]
)
def test_a_negative_raw_value_is_not_mentioned(feature):
    assert explain_in_words([part(feature, -0.1, 0.5, 0.8)], [], [], cold=False) == NO_REASON


def test_the_strongest_present_features_are_mentioned():
    said = explain_in_words(
        [part(Feature.POPULARITY, 2.0, 1.0, 0.5), part(Feature.RECENT, -0.5, 1.0, 0.3)],
        [],
        [],
        cold=True,
    )
    assert said.startswith("Many people chose it")
    assert "at the moment" in said


@pytest.mark.parametrize(("support", "said"), [(2, True), (3, False)])
async def test_many_are_as_many_as_an_attribute_needs_to_travel(support, said):
    values, weights = np.ones((1, FEATURES)), np.zeros((1, FEATURES))
    weights[0, Feature.POPULARITY] = 1.0
    ranked = Ranked(np.array([0]), np.ones(1), values, values, weights)
    read = ReadResult(ranked, 1, cold=True, users=np.full((1, FEATURES), 2.0))
    explainer = Explainer(None, None, Catalogue(), support)
    (told,) = await explainer.explain(read, ReadRequest(0, OFF, 1), None)
    assert told.text.startswith("Many people") is said
    assert Feature.POPULARITY in {part.feature for part in told.parts}, "the number is shown"
