"""Every part of a score has words."""

from propagation.numbers.rules import PROPAGATED, Feature
from services.report.score_words import GROUPS, PARTS


def test_each_feature_has_words_and_a_group():
    assert set(PARTS) == {feature.name.lower() for feature in Feature}
    assert {part.group for part in PARTS.values()} == set(GROUPS)


def test_the_group_of_propagation_holds_what_is_left_out_without_it():
    names = {name for name, part in PARTS.items() if part.group == "propagation"}
    assert names == {feature.name.lower() for feature in PROPAGATED}
