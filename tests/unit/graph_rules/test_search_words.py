"""The words by which clients are found, by hand."""

import pytest

from propagation.graph_rules import holds_words, list_search_words, split_words
from propagation.graph_rules.search_words import WORD_MAX_CHARS, WORDS_MAX


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Kind of Blue", ["kind", "of", "blue"]),
        ("user-12_b", ["user", "12", "b"]),
        ("STRASSE Straße", ["strasse"]),
        ("ﬁne Ünïcødé 音楽 🎷", ["fine", "unicøde", "音楽"]),
        ("e\u0301toile Étoile", ["etoile"]),
        ("İstanbul ISTANBUL", ["istanbul"]),
        ("हिन्दी हवा", ["हिनदी", "हवा"]),
        ("ja\u202ezz\u200f", ["jazz"]),
        ("\u202e\u2066", []),
        (" \t\n--", []),
    ],
)
def test_words_are_letters_and_digits_in_one_form(text, words):
    assert split_words([text]) == words


def test_a_client_has_a_bounded_number_of_bounded_words():
    titles = " ".join(f"w{number}" for number in range(2_000))
    words = list_search_words("the-id" + "x" * 100, titles, (), ())
    assert len(words) == WORDS_MAX
    assert max(map(len, words)) == WORD_MAX_CHARS
    assert "the" in words, "the id comes first"
    assert words == sorted(words)


def test_each_word_begins_a_word():
    texts = ("Likes modal jazz", "cool")
    assert holds_words(["jaz", "co"], texts)
    assert not holds_words(["jaz", "azz"], texts)
    assert not holds_words(["jazzy"], texts)
