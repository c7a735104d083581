"""Edits of different lines commute; a profile stays bounded and never reuses an id."""

from hypothesis import given
from hypothesis import strategies as st

from propagation.model import AddLine, DropLine, Line, Profile, ReplaceLine

WEIGHTS = st.floats(0.1, 10)


def line(id_, weight=1.0):
    return Line(id=id_, text=f"line {id_} at {weight}", weight=weight)


@given(st.sets(st.integers(1, 12), min_size=1), st.data())
def test_edits_of_different_lines_commute(ids, data):
    before = Profile(ref=0, version=3, lines=tuple(line(id_) for id_ in sorted(ids)), next_id=13)
    edited = data.draw(st.lists(st.sampled_from(sorted(ids)), unique=True))
    edits = [
        DropLine(id=id_)
        if data.draw(st.booleans())
        else ReplaceLine(line=line(id_, data.draw(WEIGHTS)))
        for id_ in edited
    ]
    assert before.apply_edits(edits, 12) == before.apply_edits(
        data.draw(st.permutations(edits)), 12
    )


@given(st.lists(WEIGHTS, max_size=30), st.integers(1, 12))
def test_the_bound_holds_the_lightest_go_first_and_ids_only_grow(weights, bound):
    profile = Profile(ref=0)
    for weight in weights:
        last = profile.next_id
        profile = profile.apply_edits([AddLine(line=line(0, weight))], bound)
        assert profile.next_id == last + 1
        assert len(profile.lines) <= bound
    assert (
        sorted(one.weight for one in profile.lines) == sorted(weights, reverse=True)[:bound][::-1]
    )
    assert len({one.id for one in profile.lines}) == len(profile.lines)
