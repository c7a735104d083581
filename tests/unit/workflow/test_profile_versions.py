"""What made a version of a client's text, by its lines and the log's entry."""

import pytest

from propagation.model import (
    Author,
    ClientText,
    DatedText,
    EntryKind,
    Line,
    LogEntry,
    Profile,
    Source,
)
from propagation.workflow.history.profile_versions import (
    ChangeCause,
    LineChanges,
    compare_lines,
    find_cause,
    list_profile_changes,
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


class CountedStore:
    """Holds a log and the versions of one text, and counts reads of entries."""

    def __init__(self, versions, entries):
        self.versions, self.entries, self.reads = versions, entries, 0

    async def get_text_history(self, ref, limit, before=None):
        return self.versions[:limit]

    async def get_merges_into(self, ref, versions):
        return []

    async def get_entries_before(self, sequence, kinds, limit):
        self.reads += 1
        below = [one for one in self.entries if one.sequence < sequence and one.kind in kinds]
        return below[:limit]


async def test_the_entries_of_a_page_are_read_at_once():
    lines = (OWN, CHOSEN, HEARD)
    shown = [lines, lines[:2], lines[:2], lines[:1], lines[:1]]
    sequences = [2, 5, 7, 9, 11]
    store = CountedStore(
        [
            DatedText(ClientText(profile=Profile(ref=1, version=number, lines=those)), sequence, 0)
            for number, (those, sequence) in enumerate(zip(shown, sequences, strict=True), 1)
        ][::-1],
        [
            LogEntry(sequence=sequence, kind=kind, refs=())
            for sequence, kind in [
                (11, EntryKind.EVOLUTION),
                (10, EntryKind.ERASURE),
                (9, EntryKind.RETRACTION),
                (5, EntryKind.ERASURE),
            ]
        ],
    )
    page = await list_profile_changes(store, 1, None, 4)
    assert [change.cause for change in page.changes] == [
        ChangeCause.EVOLUTION,
        ChangeCause.RETRACTION,
        ChangeCause.INTERACTION,
        ChangeCause.ERASURE,
    ]
    assert page.more
    assert store.reads == 1
