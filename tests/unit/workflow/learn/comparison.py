"""Comparison of numbers, bit by bit."""

from propagation.numbers import State
from propagation.workflow.learn.checkpoints import Arrays, borrow_checkpoint
from propagation.workflow.views import NumbersView

NOT_LEARNED_FROM_EVENTS = ("session.centres", "taste.centres", "combiner")


def find_differing_arrays(one: State, other: State) -> list[str]:
    """Return the names of arrays that differ in a used row.

    Rows are compared bit by bit.

    Profiles, centres and the combiner are not compared.
    """
    first, second = _list_arrays(one), _list_arrays(other)
    return [
        name
        for name in first
        if name not in NOT_LEARNED_FROM_EVENTS and first[name].tobytes() != second[name].tobytes()
    ]


def _list_arrays(state: State) -> Arrays:
    view = NumbersView(state.session.centres, state.taste.centres, int(state.seed), epoch=0)
    view.state = state
    return borrow_checkpoint(view, False).arrays
