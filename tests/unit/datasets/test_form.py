"""The common form: order, rows, bounds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from propagation.datasets.dataset import Event, Events, assemble


@given(
    st.lists(
        st.tuples(st.sampled_from("uvw"), st.sampled_from("abc"), st.integers(0, 3)), max_size=30
    ),
    st.integers(0, 9),
)
def test_events_come_in_time_order_and_rows_agree(told, seed):
    log = Events("x")
    for user, item, time in told:
        log.append(user, item, time)
    data = assemble("x", {}, {}, log, seed)
    events = list(data.events)
    assert [event.time for event in events] == sorted(time for _, _, time in told)
    assert sorted((event.user_id, event.item_id, event.time) for event in events) == sorted(told)
    users, items, times = data.rows()
    assert [
        (data.users[u].key.id, data.items[i].key.id, t)
        for u, i, t in zip(users, items, times.tolist(), strict=True)
    ] == [(event.user_id, event.item_id, event.time) for event in events]


def test_ties_follow_the_seed_and_not_the_file():
    log = Events("x")
    for line in range(50):
        log.append(f"u{line}", "a", 5)
    orders = [log.order(seed).tolist() for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != list(range(50))


def test_a_bounded_number_of_events_says_so():
    log = Events("x")
    for line in range(10):
        log.append(f"u{line}", "a", line)
    part = assemble("x", {}, {}, log, 1).first(4)
    assert (len(part), [user.key.id for user in part.users]) == (4, ["u0", "u1", "u2", "u3"])
    assert "earliest 4 of 10" in part.notes[-1]
    assert part.first(9) is part
    assert part.rows()[0].tolist() == [0, 1, 2, 3]


def test_what_few_events_have_stays_with_them():
    log = Events("x")
    log.append("u", "a", 1)
    log.append("u", "b", 2, {"why": "gift"}, event_id="mine", negative="a", weight=3.0)
    log.append("u", "c", 3, {"rating": "5"})
    assert list(log.read(np.arange(3))) == [
        Event("x:u:a:1", "u", "a", 1),
        Event("mine", "u", "b", 2, "a", 3.0, {"why": "gift"}),
        Event("x:u:c:3", "u", "c", 3, metadata={"rating": "5"}),
    ]


def list_ids(log):
    return [event.event_id for event in log.read(np.arange(len(log)))]


def test_an_event_is_named_by_what_it_says_wherever_it_stands():
    old, new = Events("x"), Events("x")
    new.append("v", "b", 9)
    for log in (old, new):
        for time in (1, 2, 1, 1):
            log.append("u", "a", time)
    assert list_ids(old) == ["x:u:a:1", "x:u:a:2", "x:u:a:1~2", "x:u:a:1~3"]
    assert list_ids(new) == ["x:v:b:9", *list_ids(old)]


def test_times_that_are_only_places_are_in_no_id():
    log = Events("x", timed=False)
    for place in range(2):
        log.append("u", "a", place)
    assert list_ids(log) == ["x:u:a", "x:u:a~2"]


AWKWARD = st.text("a:~%1", min_size=1, max_size=200)


@given(st.lists(st.tuples(AWKWARD, AWKWARD, st.integers(0, 3)), max_size=20))
def test_every_made_up_id_is_its_own_and_short_enough(told):
    log = Events("x")
    for user, item, time in told:
        log.append(user, item, time)
    ids = list_ids(log)
    assert len(set(ids)) == len(ids)
    assert all(len(name.encode()) <= 256 for name in ids)
