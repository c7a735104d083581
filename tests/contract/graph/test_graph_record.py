"""The record port and the clients: outcomes, order, all or nothing."""

import asyncio

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from propagation.model import (
    ClientKey,
    ClientKind,
    EntryKind,
    InvalidInput,
    LeaseLost,
    RecordStatus,
    derive_seed,
)
from tests.contract.graph_store import (
    MAKERS,
    MARKED,
    STRANGE,
    TurnedClock,
    change,
    event,
    find_event,
    item,
    record_pairs,
    user,
)

USER, ITEM = ClientKind.USER, ClientKind.ITEM


async def record_events(store, *events, auto_create=True):
    answer = await store.record(list(events), auto_create=auto_create)
    return [outcome.status.value for outcome in answer.outcomes], [
        outcome.sequence for outcome in answer.outcomes
    ]


async def test_a_repeat_is_a_duplicate_with_the_first_ones_sequence(store):
    _, (first,) = await record_events(store, event("a"))
    assert await record_events(store, event("a")) == (["duplicate"], [first])


async def test_repeats_within_one_call_count_too(store):
    names, sequences = await record_events(
        store, event("a"), event("a"), event("a", content="other"), event("b"), event("b")
    )
    assert names == ["accepted", "duplicate", "conflict", "accepted", "duplicate"]
    assert sequences[0] == sequences[1]
    assert sequences[3] == sequences[4] == sequences[0] + 1
    assert sequences[2] == 0


async def test_other_content_is_refused_and_changes_nothing(store):
    await record_events(store, event("a", "u0", "i0"))
    through = await store.get_recorded_through()
    assert await record_events(store, event("a", "u9", "i9", content="other")) == (
        ["conflict"],
        [0],
    )
    assert await store.get_recorded_through() == through
    assert await store.find_refs([ClientKey(kind=USER, id="u9")]) == [None]
    keys = [ClientKey(kind=ITEM, id="i0"), ClientKey(kind=USER, id="u0")]
    known = await store.find_refs(keys)
    assert await store.find_keys([*known, known[0], user(9), item(9)]) == [
        *keys,
        keys[0],
        None,
        None,
    ]
    assert await store.find_keys([]) == []


async def test_unknown_clients_are_named_one_by_one(store):
    await store.upsert_clients([change(USER, "u0"), change(ITEM, "i0")])
    names, _ = await record_events(
        store,
        event("a", "u1"),
        event("b", "u0", "i1"),
        event("c", negative_id="i1"),
        event("d"),
        auto_create=False,
    )
    assert names == ["unknown_user", "unknown_item", "unknown_negative", "accepted"]


async def test_auto_create_makes_each_client_once_before_its_events(store):
    answer = await store.record(
        [event("a", "u", "i", negative_id="n"), event("b", "u", "n")], auto_create=True
    )
    assert dict(answer.created) == {(0, "u"): user(0), (1, "i"): item(0), (1, "n"): item(1)}
    part = await store.read_log(0, 100)
    (entry,) = part.entries
    assert entry.kind == EntryKind.CLIENTS
    assert entry.refs == (user(0), item(0), item(1))
    assert entry.sequence < part.interactions.sequence.min()


async def test_users_and_items_have_separate_ids(store):
    outcomes = await store.upsert_clients([change(USER, "7"), change(ITEM, "7")])
    assert [outcome.ref for outcome in outcomes] == [user(0), item(0)]


async def test_the_log_has_no_gap_and_slices_join(store):
    await store.upsert_clients([change(ITEM, "i0", title="A")])
    await record_pairs(store, ("u0", "i0"), ("u1", "i1"))
    await store.upsert_clients([change(ITEM, "i0", title="B")])
    await record_pairs(store, ("u0", "i1"))
    whole = await store.read_log(0, 1_000)
    sequences = sorted(
        [*whole.interactions.sequence.tolist(), *(entry.sequence for entry in whole.entries)]
    )
    assert sequences == list(range(1, await store.get_recorded_through() + 1))
    assert whole.through == sequences[-1]
    assert tuple(await store.read_entries(0, whole.through)) == whole.entries
    assert await store.read_entries(
        whole.entries[0].sequence, whole.entries[-1].sequence - 1
    ) == list(whole.entries[1:-1])
    after, pieces = 0, []
    while (part := await store.read_log(after, 2)).through > after:
        assert part.through <= after + 2
        pieces += part.interactions.sequence.tolist() + [entry.sequence for entry in part.entries]
        after = part.through
    assert sorted(pieces) == sequences
    beyond = await store.read_log(after, 5)
    assert (len(beyond.interactions), beyond.entries, beyond.through) == (0, (), after)


async def test_a_log_slice_carries_what_learn_needs(store):
    weighty = event("a", "u", "i", negative_id="n", weight=0.1 + 0.2)
    await store.record([weighty, event("b", "v", "i")], auto_create=True)
    columns = (await store.read_log(0, 100)).interactions
    assert columns.user.tolist() == [0, 1]
    assert columns.item.tolist() == [0, 0]
    assert columns.negative.tolist() == [1, -1]
    assert columns.weight.tolist() == [pytest.approx(0.3, abs=1e-15), 1.0]
    assert columns.seed.view(np.int64)[0] == derive_seed(weighty.event_id)


async def test_callers_who_record_at_once_share_no_sequence(store):
    answers = await asyncio.gather(
        *(
            store.record([event(f"{n}-{m}", f"u{n}") for m in range(5)], auto_create=True)
            for n in range(20)
        )
    )
    blocks = [[outcome.sequence for outcome in answer.outcomes] for answer in answers]
    assert all(block == list(range(block[0], block[0] + 5)) for block in blocks)
    assert len({sequence for block in blocks for sequence in block}) == 100


async def test_a_cancelled_caller_harms_nobody(store):
    tasks = [
        asyncio.create_task(store.record([event(f"c{n}")], auto_create=True)) for n in range(50)
    ]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(done[place].outcomes[0].status == RecordStatus.ACCEPTED for place in range(1, 50, 2))
    part = await store.read_log(0, 1_000)
    assert len(part.interactions) + len(part.entries) == await store.get_recorded_through()


async def test_a_call_that_fails_leaves_no_trace(store):
    await record_pairs(store, ("u0", "i0"))
    through = await store.get_recorded_through()
    with pytest.raises(InvalidInput):
        await store.record([event("good", "fresh"), event("bad\0", "u0")], auto_create=True)
    assert await store.get_recorded_through() == through
    assert await store.find_refs([ClientKey(kind=USER, id="fresh")]) == [None]
    assert await record_pairs(store, ("u0", "i0")) == [through + 1]


async def test_upserting_the_same_twice_changes_nothing(store):
    first = await store.upsert_clients(
        [change(ITEM, "i", title="A", attributes=("x",), metadata={"k": "v"})]
    )
    again = await store.upsert_clients([change(ITEM, "i", title="A")])
    assert (first[0].created, first[0].changed, again[0].created, again[0].changed) == (
        True,
        True,
        False,
        False,
    )
    assert again[0].sequence == first[0].sequence == await store.get_recorded_through()


async def test_a_field_that_is_absent_is_kept(store):
    await store.upsert_clients([change(ITEM, "i", title="A", hidden=True, categories=("c",))])
    await store.upsert_clients(
        [change(ITEM, "i", title="B"), change(ITEM, "i", description="long")]
    )
    (client,) = await store.get_clients([item(0)])
    assert (client.title, client.description, client.hidden, client.categories) == (
        "B",
        "long",
        True,
        ("c",),
    )


async def test_clients_come_as_they_were_at_a_sequence(store):
    sequences = [
        (await store.upsert_clients([change(ITEM, "i", title=title)]))[0].sequence
        for title in "ABC"
    ]
    titles = [
        (await store.get_clients([item(0)], as_of=sequence))[0].title for sequence in sequences
    ]
    assert titles == ["A", "B", "C"]
    assert (await store.get_clients([item(0)]))[0].title == "C"


async def test_all_contents_of_clients(store):
    for title in "ABC":
        await store.upsert_clients([change(ITEM, "i", title=title)])
    await store.upsert_clients([change(ITEM, "j", title="J", attributes=("a",))])
    assert await store.get_client_contents([]) == []
    contents = await store.get_client_contents([item(1), item(0), item(7)])
    assert [(one.ref, one.title) for one in contents] == [
        *((item(0), title) for title in "ABC"),
        (item(1), "J"),
    ]
    assert contents[-1:] == await store.get_clients([item(1)])


async def test_clients_by_ref_scan_and_count(store):
    await store.upsert_clients([change(ITEM, f"i{n}") for n in range(5)])
    clients = await store.get_clients([item(3), user(9), item(0), item(3)])
    assert [client.ref for client in clients] == [item(3), item(0), item(3)]
    first = await store.scan_clients(ITEM, -1, 3)
    rest = await store.scan_clients(ITEM, first[-1].ref, 3)
    assert [client.key.id for client in (*first, *rest)] == [f"i{n}" for n in range(5)]
    assert (await store.count_clients(ITEM), await store.count_clients(USER)) == (5, 0)


@pytest.mark.parametrize("strange", STRANGE)
async def test_any_text_comes_back_as_it_was(store, strange):
    await store.upsert_clients(
        [change(ITEM, strange, title=strange, attributes=(strange,), metadata={strange: strange})]
    )
    await store.record(
        [event(strange, strange, strange, metadata={strange: strange})], auto_create=True
    )
    (client,) = await store.get_clients([item(0)])
    assert (client.key.id, client.title, client.attributes, client.metadata) == (
        strange,
        strange,
        (strange,),
        {strange: strange},
    )
    row = await find_event(store, strange)
    assert row is not None
    assert row.event_id == strange
    assert (row.user, row.item) == (user(0), item(0))
    assert (await record_events(store, event(strange, strange, strange)))[0] == ["duplicate"]


@pytest.mark.parametrize("made", MARKED)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1),
        unique=True,
        max_size=8,
    )
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_ids_of_any_characters_stay_apart(tmp_path_factory, made, ids):
    store = MAKERS[made](tmp_path_factory.mktemp("ids"), TurnedClock())
    await store.open()
    try:
        await store.upsert_clients([change(USER, id_) for id_ in ids])
        assert await store.find_refs([ClientKey(kind=USER, id=id_) for id_ in ids]) == [
            user(n) for n in range(len(ids))
        ]
    finally:
        await store.close()


async def test_commit_times_never_go_back(store, reopen, clock):
    await record_pairs(store, ("u0", "i0"))
    first, then = await store.get_recorded_through(), clock.ms
    clock.ms -= 3_600_000
    await record_pairs(store, ("u0", "i1"))
    store = await reopen()
    await record_pairs(store, ("u0", "i2"))
    last = await store.get_recorded_through()
    assert await store.get_sequence_at(then - 1) == 0
    assert await store.get_sequence_at(then) == last
    clock.ms = then + 5
    await record_pairs(store, ("u0", "i3"))
    assert await store.get_sequence_at(then + 4) == last > first


async def test_the_time_of_the_next_entry(store, clock):
    assert await store.get_time_of_next(0) == 0
    made = clock.ms
    await record_pairs(store, ("u0", "i0"))
    clients_through = await store.get_recorded_through() - 1
    clock.ms += 7_000
    await record_pairs(store, ("u0", "i1"))
    last = await store.get_recorded_through()
    assert await store.get_time_of_next(0) == made
    assert await store.get_time_of_next(clients_through) == made
    assert await store.get_time_of_next(last - 1) == made + 7_000
    assert await store.get_time_of_next(last) == 0


async def test_all_of_it_is_there_after_a_restart(store, reopen):
    await record_pairs(store, ("u0", "i0"), ("u1", "i1"))
    await store.put_blob("embedder", b"\x00\xff")
    through = await store.get_recorded_through()
    store = await reopen()
    assert await store.get_recorded_through() == through
    assert await store.get_blob("embedder") == b"\x00\xff"
    assert await store.get_blob("other") is None
    assert (await record_events(store, event("new", "u1", "i1")))[1] == [through + 1]


async def test_a_fact_under_a_lease_is_not_overwritten_by_a_holder_that_lost_it(store, clock):
    late = await store.acquire_lease("learn", "late", 10_000)
    await store.put_blob("embedder:2", b"late", late)
    clock.ms += 10_001
    now = await store.acquire_lease("learn", "now", 10_000)
    await store.put_blob("embedder:2", b"now", now)
    with pytest.raises(LeaseLost):
        await store.put_blob("embedder:2", b"late", late)
    assert await store.get_blob("embedder:2") == b"now"


async def test_interactions_are_found_by_sequence_and_event(store):
    sequences = await record_pairs(store, ("u0", "i0"), ("u1", "i0"), ("u0", "i1"))
    rows = await store.get_interactions([sequences[2], 10_000, sequences[0]])
    assert [row.sequence for row in rows] == [sequences[2], sequences[0]]
    assert await find_event(store, "nobody") is None
