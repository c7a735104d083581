"""A text's difference to another gives the text back."""

from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propagation.adapters.shared.reason_rows import build_line_row, build_rule_row
from propagation.adapters.shared.versions.text_differences import (
    apply_difference,
    find_difference,
)
from propagation.model import (
    Author,
    ClientText,
    FilterMemory,
    FilterRule,
    Line,
    Profile,
    Source,
)

SOURCES = st.lists(
    st.builds(Source, sequence=st.integers(1, 4))
    | st.builds(Source, router=st.integers(0, 1), version=st.integers(1, 2)),
    max_size=4,
).map(tuple)
WORDS = st.text(max_size=3) | st.sampled_from(("jazz", "null", "“Blue”", "\\u0001", "音楽"))
LINES = st.lists(
    st.builds(
        Line,
        id=st.integers(1, 6),
        text=WORDS,
        attributes=st.lists(WORDS, max_size=2).map(tuple),
        weight=st.floats(0.01, 9) | st.sampled_from((1, 1.0)),
        sources=SOURCES,
        author=st.sampled_from(Author),
    ),
    max_size=6,
    unique_by=lambda line: line.id,
)
TARGETS = st.builds(lambda router: (router, None), st.integers(0, 2)) | st.builds(
    lambda name: (None, name), st.sampled_from(("jazz", "", "1"))
)
RULES = st.lists(
    st.builds(
        lambda target, factor, text, evidence, age: FilterRule(
            factor, text, router=target[0], attribute=target[1], evidence=evidence, age=age
        ),
        TARGETS,
        st.floats(0.25, 4),
        WORDS,
        st.lists(st.integers(1, 3), max_size=2).map(tuple),
        st.integers(0, 3),
    ),
    max_size=4,
    unique_by=lambda rule: rule.target,
)
JAZZ = Line(id=1, text="Likes jazz.", attributes=("jazz",), sources=(Source(sequence=7),))
SOUL = replace(JAZZ, id=2, text="Likes soul.")
FUNK = replace(JAZZ, id=3, text="Likes funk.")


def make_text(lines, rules=()):
    return ClientText(
        profile=Profile(ref=0, version=1, lines=tuple(lines)),
        filter_memory=FilterMemory(tuple(rules)),
    )


def make_rows(text):
    return store([*map(build_line_row, text.profile.lines)]), store(
        [*map(build_rule_row, text.filter_memory.rules)]
    )


def store(value):
    return orjson.loads(orjson.dumps(value))


@given(LINES, RULES, LINES, RULES)
def test_a_difference_gives_the_text_back(lines, rules, next_lines, next_rules):
    before, after = make_text(lines, rules), make_text(next_lines, next_rules)
    stored = store(find_difference(before, after))
    assert apply_difference(stored, make_rows(before)) == make_rows(after)


@given(LINES, RULES, st.permutations(range(6)), st.integers(0, 6), LINES)
def test_texts_that_share_lines_give_each_other_back(lines, rules, order, kept, others):
    """Most lines stay, some move, some go, some come or change."""
    moved = [lines[place] for place in order if place < len(lines)][:kept]
    names = {line.id for line in others}
    after_lines = [line for line in moved if line.id not in names] + others
    before, after = make_text(lines, rules), make_text(after_lines, rules[:1])
    for one, other in ((before, after), (after, before)):
        stored = store(find_difference(one, other))
        assert apply_difference(stored, make_rows(one)) == make_rows(other)


@given(LINES, RULES)
def test_equal_texts_have_an_empty_difference(lines, rules):
    assert find_difference(make_text(lines, rules), make_text(lines, rules)) == [[], []]


def test_a_difference_holds_only_what_changes():
    before = make_text([JAZZ, SOUL])
    confirmed = replace(JAZZ, weight=1.5, sources=(Source(sequence=7), Source(sequence=9)))
    assert find_difference(before, make_text([confirmed, SOUL])) == [
        [],
        [[1, [None, None, 1.5, None, [0, [9, None, None]]]]],
    ]
    assert find_difference(before, make_text([SOUL])) == [[1], []]
    assert find_difference(before, make_text([SOUL, JAZZ])) == [[], [[2, [], None]]]
    whole = ["Likes funk.", ("jazz",), 1.0, Author.INTERACTION, [[7, None, None]]]
    assert find_difference(before, make_text([JAZZ, FUNK, SOUL])) == [[], [[3, whole, 1]]]
    rule = FilterRule(2.0, "Welcome jazz.", attribute="jazz", evidence=(7,), age=7)
    assert find_difference(
        make_text([], [rule]), make_text([], [replace(rule, evidence=(7, 9), age=9)])
    ) == [[], [], [], [[(None, "jazz"), {"evidence": (7, 9), "age": 9}]]]


def test_a_line_that_both_texts_lose_leaves_their_difference_as_it_is():
    difference = find_difference(make_text([FUNK, JAZZ]), make_text([FUNK, JAZZ, SOUL]))
    assert find_difference(make_text([JAZZ]), make_text([JAZZ, SOUL])) == difference


def test_unchanged_lines_stay_the_same_objects():
    before = make_text([JAZZ, SOUL])
    rows = make_rows(before)
    found, _ = apply_difference(find_difference(before, make_text([FUNK, SOUL])), rows)
    assert found[1] is rows[0][1]


@pytest.mark.parametrize("twice", [([JAZZ, JAZZ], []), ([], [FilterRule(2.0, "", router=1)] * 2)])
def test_lines_of_one_id_cannot_be_told_apart(twice):
    assert find_difference(make_text([]), make_text(*twice)) is None
    assert find_difference(make_text(*twice), make_text([])) is None


@pytest.mark.parametrize("lines", [[SOUL], [JAZZ]])
def test_a_difference_to_another_text_is_an_error(lines):
    difference = find_difference(
        make_text([JAZZ, SOUL]), make_text([replace(SOUL, weight=2.0), FUNK])
    )
    with pytest.raises(LookupError):
        apply_difference(difference, make_rows(make_text(lines)))
