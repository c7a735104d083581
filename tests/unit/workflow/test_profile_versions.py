"""What made a version of a client's text, by its lines and the log's entry."""

import pytest

from propagation.model import Author, EntryKind, Line, Profile, Source
from propagation.workflow.history.profile_versions import (
    ChangeCause,
    LineChanges,
    compare_lines,
    find_cause,
)

OWN = Line(id=1, text="jazz from the shelf", attributes=("jazz",), author=Author.CATALOGUE)
CHOSEN = Line(id=2, text="likes jazz", sources=(Source(sequence=3),))
HEARD = Line(
    id=3, text="hears opera", sources=(Source(router=1, version=2),), author=Author.RECEPTION
)


def cause(before, after, entry=None):
    was, now = Profile(ref=1, lines=tuple(before)), Profile(ref=1, lines=tuple(after))
    return find_cause(was, now, compare_lines(was.lines, now.lines), entry)


def test_lines_are_compared_by_id():
    after = [
        CHOSEN.with_changes(text="likes hard bop"),
        HEARD,
        OWN.with_changes(weight=2.0),
        Line(id=4, text="new"),
    ]
    changes = compare_lines([OWN, CHOSEN, HEARD, Line(id=5, text="gone")], after)
    assert changes == LineChanges(added=(4,), removed=(5,), changed=(2,), backed=())


def test_a_line_that_rests_on_one_more_event_is_backed():
    more = Line(id=2, text="likes jazz", sources=(Source(sequence=3), Source(sequence=8)))
    assert compare_lines([CHOSEN], [more]) == LineChanges((), (), (), backed=(2,))
    assert compare_lines([more], [CHOSEN]) == LineChanges((), (), (), ())


@pytest.mark.parametrize(
    ("before", "after", "entry", "expected"),
    [
        ([], [OWN], None, ChangeCause.CATALOGUE),
        ([OWN], [OWN, CHOSEN], None, ChangeCause.INTERACTION),
        ([OWN], [CHOSEN], EntryKind.ERASURE, ChangeCause.INTERACTION),
        ([OWN], [OWN, HEARD], None, ChangeCause.RECEPTION),
        ([OWN, CHOSEN], [OWN], EntryKind.RETRACTION, ChangeCause.RETRACTION),
        ([OWN, HEARD], [OWN], EntryKind.ERASURE, ChangeCause.ERASURE),
        ([OWN, HEARD], [OWN], None, ChangeCause.INTERACTION),
        ([OWN, HEARD], [HEARD], None, ChangeCause.CATALOGUE),
        ([OWN], [OWN], EntryKind.EVOLUTION, ChangeCause.EVOLUTION),
        ([OWN], [OWN], None, ChangeCause.INTERACTION),
        ([OWN], [OWN], EntryKind.ROUND, ChangeCause.INTERACTION),
    ],
)
def test_what_is_gained_decides_then_the_entry_then_what_is_lost(before, after, entry, expected):
    assert cause(before, after, entry) is expected
