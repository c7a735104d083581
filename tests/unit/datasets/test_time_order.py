"""Whether times order events: a rule that a few odd times do not fool."""

import re

import numpy as np
import pytest

from propagation.datasets.dataset import Events, assemble
from propagation.datasets.time_order import find_order_problem

USERS, EACH = 20, 10
USER = np.repeat(np.arange(USERS), EACH)
STEP = np.tile(np.arange(EACH), USERS)


def change(time, rows, value):
    changed = time.copy()
    changed[rows] = value
    return changed


@pytest.mark.parametrize(
    "time",
    [
        np.arange(USERS * EACH),
        STEP,  # each user's events are at 0 to 9
        STEP // 2,  # pairs at one moment, as in a session
        change(np.arange(USERS * EACH), slice(0, 80), 0),  # two fifths are unknown
        np.array([], np.int64),
        np.array([5]),
    ],
    ids=["all differ", "by user", "in pairs", "some unknown", "none", "one"],
)
def test_times_that_order_events(time):
    assert find_order_problem(USER[: len(time)], time) == ""


@pytest.mark.parametrize(
    ("time", "said"),
    [
        (np.zeros(USERS * EACH), "all events have one time"),
        (change(np.zeros(USERS * EACH), 3, 7), "199 of 200 events have one and the same time"),
        (change(np.arange(USERS * EACH), slice(0, 101), 0), "101 of 200 events have one and"),
        (USER, "of 180 steps from one event of a user to the next, 0 have another time; at least"),
        (USER * 100 + (STEP == 0) * (USER < 15), "of 180 steps .* next, 15 have another time"),
    ],
    ids=["one time", "a single odd one", "most unknown", "one a user", "an odd one a user"],
)
def test_times_that_order_nothing_are_described(time, said):
    assert re.search(said, find_order_problem(USER, time.astype(np.int64)))


@pytest.mark.parametrize(("timed", "said"), [(True, ""), (False, "the events have no times")])
def test_a_dataset_says_whether_its_times_are_its_own(timed, said):
    events = Events("x", timed=timed)
    for step in range(4):
        events.append("u", f"i{step}", step)
    assert assemble("x", {}, {}, events, 1, timed=timed).find_order_problem() == said
