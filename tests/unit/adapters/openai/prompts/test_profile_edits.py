"""How long what a model writes may be, in whatever script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from propagation.adapters.openai.prompting import LONGEST_WORD, limit_words

JAZZ = "喜欢安静的爵士乐和深夜的钢琴独奏"


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [
        ("- Drawn to soul", 25, "Drawn to soul"),
        ("one two, three", 2, "one two…"),
        (JAZZ, 25, JAZZ),
        (JAZZ * 20, 25, (JAZZ * 20)[:50] + "…"),
        (f"Jazz: {JAZZ * 20}", 25, f"Jazz: {(JAZZ * 20)[:48]}…"),
        ("Donaudampfschifffahrtskapitän loves it", 25, "Donaudampfschifffahrtskapitän loves it"),
    ],
)
def test_a_line_has_at_most_so_many_words(text, most, kept):
    assert limit_words(text, most) == kept


@given(st.text(), st.integers(1, 60))
def test_no_text_passes_the_bound(text, most):
    kept = limit_words(text, most)
    assert len(kept.split()) <= most
    assert len(kept) <= most * (LONGEST_WORD + 1) + 1
