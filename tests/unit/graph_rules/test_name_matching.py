"""Texts that name one of the lost attributes."""

import pytest

from propagation.graph_rules.name_matching import names_one


@pytest.mark.parametrize(
    ("text", "attributes", "named"),
    [
        ("say more of free jazz", (), True),
        ("say more of FREE Jazz", (), True),
        ("of freejazz and free jazzmen", (), True),
        ("for a smoother road", (), False),
        ("of STRASSENMUSIK", (), True),
        ("of Straßenmusik", (), True),
        ("say more of it", ("folk", "free jazz"), True),
        ("say more of it", ("free jazz nights",), False),
        ("", (), False),
    ],
)
def test_a_text_names_an_attribute_in_words_or_by_having_it(text, attributes, named):
    assert names_one(text, attributes, ["opera", "free jazz", "strassenmusik"]) == named


def test_a_text_names_a_word_in_either_case():
    assert names_one("likes zeb music", (), ["Zeb Music"])


def test_nothing_is_named_if_nothing_was_lost():
    assert not names_one("jazz", ("jazz",), frozenset())
