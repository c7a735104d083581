"""Comparison of numbers, bit by bit."""

from propagation.numbers import State
from propagation.workflow.learn.checkpoints import borrow_checkpoint
from propagation.workflow.views.numbers_view import NumbersView, live_combiner

NOT_LEARNED_FROM_EVENTS = ("session.centres", "taste.centres", "combiner")


def differing_arrays(one: State, other: State) -> list[str]:
    """Names of arrays that differ in any bit of a used row; profiles are not compared."""
    first, second = (
        borrow_checkpoint(NumbersView.of_state(state, live_combiner(), 0, 0), False).arrays
        for state in (one, other)
    )
    return [
        name
        for name in first
        if name not in NOT_LEARNED_FROM_EVENTS and first[name].tobytes() != second[name].tobytes()
    ]
