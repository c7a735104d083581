"""Which quotations are a client's title, and which texts name a client or attribute."""

import pytest

from propagation.graph_rules.name_matching import OwnWords, names_one


@pytest.mark.parametrize(
    ("title", "quote", "same"),
    [
        ("Blue Train, The (1957)", "The Blue Train (1957)", True),
        ("Rock &amp; Roll", "Rock & Roll", True),
        (
            "One two three four five six seven eight nine ten eleven",
            "One two three four five six seven eight nine…",
            True,
        ),
        ("Blue Train", "Blue", False),
        ("Blue", "Blue Train", False),
        ("Blue Train", "Train of thought", False),
        ("", "", False),
    ],
)
def test_a_title_is_recognised_in_its_forms(title, quote, same):
    assert OwnWords(frozenset([title])).is_quoted(quote) is same


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        ("plonk", "A community drawn to plonk.", True),
        ("plonk", "Has had a first taste of ska: “Plonk & Zoot”.", False),
        ("plonk", "Speaks of “Plonk” now.", True),
        ("community", "A community drawn to ska.", False),
        ("community theatre", "A community theatre.", True),
        ("plonk", "A circle of _plonk_ fans.", True),
        ("plonk", "A circle of plonkers.", False),
        ("東京", "みんな東京が好き。", True),
        ("☭☭", "A community drawn to ska and ☭☭.", True),
        ("(?!%)", "A community drawn to (?!%) and ska.", True),
        ("☭☭", "A community drawn to ska.", False),
        *((mark, "Likes “A”, & - : “Zoot”.", False) for mark in (".", ",", ":", "&", "-", '"')),
        ('the "plonk" cult', 'A community drawn to the "plonk" cult; it likes “Zoot”.', True),
        ("plonk", "A community drawn to zz“ and plonk; it likes “Zoot”.", True),
    ],
)
def test_a_text_names_a_word_of_its_own(name, text, held):
    """Another client's title is no such text, and neither are the words of every sentence."""
    assert OwnWords(names=frozenset([name])).is_in(text) is held


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
