"""Titles and names as people write them, sentences fit_titles their bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from propagation.adapters.offline.sentences import (
    clean_title,
    fit_titles,
    list_names,
    quote,
    shorten,
)
from propagation.model import TITLE, join_names
from tests.unit.parties import item


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("English Patient, The (1996)", "The English Patient (1996)"),
        ("Postino, Il (1994)", "Il Postino (1994)"),
        ("Avventura, L' (1960)", "L'Avventura (1960)"),
        ("Tom Petty &amp; The Heartbreakers", "Tom Petty & The Heartbreakers"),
        ("Hello, Dolly", "Hello, Dolly"),
        ("  Kind \n of Blue ", "Kind of Blue"),
    ],
)
def test_titles(raw, read):
    assert clean_title(raw) == read


def test_names_are_split_unescaped_and_never_an_id():
    assert list_names(item(categories=("Pop; Adult Contemporary",))) == (
        "pop",
        "adult contemporary",
    )
    assert list_names(item(categories=("Animation|Children's",))) == ("animation", "children's")
    assert list_names(item(categories=("R&amp;B",))) == ("r&b",)
    assert list_names(item(title="", categories=())) == ()


def test_a_title_alone_gives_its_telling_words_in_any_language():
    assert list_names(item(title="The Best Of Flamenco Guitar", categories=())) == (
        "flamenco",
        "guitar",
    )
    assert list_names(item(title="Любовь и голуби", categories=())) == ("любовь", "голуби")


def test_lists():
    assert [join_names(names) for names in ((), ("a",), ("a", "b"), ("a", "b", "c"))] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


@given(st.text(max_size=60))
def test_a_quoted_title_can_be_read_back(title):
    read = clean_title(title)
    assert TITLE.findall(f"Loves jazz: lately {quote(read)}.") == [quote(read)[1:-1]]


@given(
    st.text(max_size=300),
    st.lists(st.text(alphabet="abc “”", max_size=40), max_size=4),
    st.integers(1, 25),
)
def test_a_sentence_never_exceeds_its_words(head, titles, words):
    assert len(fit_titles(head, titles, ", such as {}", words).split()) <= words
    assert len(shorten(head, words).split()) <= words
