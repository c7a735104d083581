"""Events that are recorded, here or elsewhere, and not learned yet."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from propagation.model import Interactions, LogSlice, NewInteraction, RecordOutcome, RecordStatus
from propagation.workflow.views import PendingEvents


def add_log(unlearned, after, through):
    """Add a part of the log, with an interaction at each sequence.

    The sequence decides user and item.
    """
    column = np.arange(after + 1, through + 1)
    unlearned.add_log(
        after,
        LogSlice(
            interactions=Interactions(
                sequence=column,
                user=column % 3,
                item=column,
                negative=-column,
                weight=column.astype(np.float64),
                seed=column.astype(np.uint64),
                day=column,
                time=column.astype(np.uint32),
            ),
            entries=(),
            through=through,
        ),
    )


def accepted_events(*sequences):
    return (
        [
            NewInteraction(event_id=str(n), user_id="ann", item_id=f"i{n}", time=0, content_hash="")
            for n in sequences
        ],
        [RecordOutcome(status=RecordStatus.ACCEPTED, sequence=n) for n in sequences],
    )


def test_what_is_recorded_elsewhere_is_a_gap_until_it_is_read():
    unlearned = PendingEvents()
    assert unlearned.find_gaps(0) == [], "an empty log has no gap"
    assert unlearned.find_gaps(5) == [(0, 5)], "all that is unread is one gap"
    unlearned.add_recorded(*accepted_events(3, 4), has_clients_entry=True)
    unlearned.note_entry(7)
    assert unlearned.find_gaps(9) == [(0, 1), (4, 6), (7, 9)], "own events and entries are no gap"
    add_log(unlearned, 4, 6)
    unlearned.add_recorded(*accepted_events(5, 6))
    assert unlearned.find_gaps(9) == [(0, 1), (7, 9)], "what was read is none"
    assert (unlearned.list_ids("ann"), unlearned.list_rows(5 % 3), unlearned.list_rows(6 % 3)) == (
        ["i3", "i4"],
        [5],
        [6],
    ), "both kinds are pending"
    unlearned.drop_learned(4)
    assert (unlearned.find_gaps(9), unlearned.list_ids("ann")) == ([(7, 9)], []), (
        "learned events are not pending"
    )
    add_log(unlearned, 7, 9)
    assert unlearned.find_gaps(9) == [], "all was read"
    unlearned.drop_learned(9)
    assert (len(unlearned), unlearned.find_gaps(9), unlearned.find_gaps(10)) == (
        0,
        [],
        [(9, 10)],
    ), "then only the next is a gap"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["here", "log", "learned"]), st.integers(0, 12), st.integers(1, 4)
        ),
        max_size=20,
    )
)
def test_gaps_are_what_is_neither_learned_nor_known(steps):
    unlearned, known, most = PendingEvents(), set(), 18
    for kind, after, size in steps:
        through = after + size
        if kind == "here":
            unlearned.add_recorded(*accepted_events(*range(after + 1, through + 1)))
        elif kind == "log":
            add_log(unlearned, after, through)
        else:
            unlearned.drop_learned(after)
            through, after = after, 0
        known.update(range(after + 1, through + 1))
        assert {
            n for low, high in unlearned.find_gaps(most) for n in range(low + 1, high + 1)
        } == set(range(1, most + 1)) - known
