"""Attributes that a text names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from propagation.model import find_names_in_text, normalize_name

TEXTS = st.text("ab1_ é-.ßc", max_size=12)


def test_whole_words_outside_of_quoted_titles():
    text = "Loves jazz-funk and C++; the last was “Blues in the Night”."
    assert find_names_in_text(("jazz", "jazz-funk", "funk", "c++", "c", "blues", "love"), text) == (
        "jazz",
        "jazz-funk",
        "funk",
        "c++",
        "c",
    )


@given(TEXTS.map(normalize_name).filter(bool), TEXTS)
def test_names_in_text_agrees_with_a_regular_expression(name, text):
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", normalize_name(text))
    assert bool(find_names_in_text((name,), text)) == bool(found)


@pytest.mark.parametrize("name", ["the “Blue” cult", "“blue”", "blue“", "zz”"])
def test_a_name_has_no_mark_with_which_texts_quote_titles(name):
    """In a text, it would hide itself and what follows from the search for names."""
    normal = normalize_name(name)
    assert not set(normal) & set("“”")
    assert find_names_in_text((normal,), f"Likes {normal} and “Zoot”.") == (normal,)
