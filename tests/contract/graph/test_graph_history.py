"""Events of one client, and log entries of some kinds, newest first and by page."""

from propagation.model import ClientEvent, ClientKind, EntryKind, Withdrawal
from tests.contract.graph_store import (
    change,
    checkpoint,
    event,
    item,
    learn_all,
    record_pairs,
    run_round,
    user,
    withdraw,
)

ANN, BOB = user(0), user(1)
NEWEST = 1 << 56


async def withdraw_events(store, kind, refs, rows, erased=None):
    lease = await store.acquire_lease("learn", "test", 60_000)
    through = await store.get_recorded_through()
    withdrawal = Withdrawal(kind=kind, refs=refs, interactions=rows, erased=erased)
    return await withdraw(store, lease, withdrawal, checkpoint(through, barrier=True))


async def list_events(store, ref, before=None, limit=100):
    return [
        (one.event_id, one.retracted) for one in await store.get_client_events(ref, limit, before)
    ]


async def test_an_event_is_shown_as_it_was_recorded(store, clock):
    await store.upsert_clients([change(ClientKind.ITEM, "other")])
    events = [
        event("e", "ann", "blue", time=7, weight=2.5, negative_id="other", metadata={"a": "b"}),
        event("f", "bob", "other"),
    ]
    await store.record(events, auto_create=True)
    [ref] = [row.item for row in await store.get_interactions_of_clients([ANN])]
    [found] = await store.get_client_events(ANN, 10)
    assert found == ClientEvent(
        sequence=3,
        event_id="e",
        user=ANN,
        item=ref,
        negative=item(0),
        time=7,
        weight=2.5,
        at=clock.ms,
        metadata={"a": "b"},
    )
    assert await list_events(store, ref) == [("e", False)]
    assert await list_events(store, item(0)) == [("f", False)], "its negatives are not among them"
    assert await list_events(store, user(9)) == []


async def test_retracted_events_stand_among_the_others(store):
    sequences = await record_pairs(store, *[("ann", f"i{n}") for n in range(5)], ("bob", "i1"))
    await learn_all(store)
    rows = await store.get_interactions(sequences[1:4:2])
    await withdraw_events(store, EntryKind.RETRACTION, (ANN,), rows)
    whole = list(await store.get_client_events(ANN, 100))
    assert [one.sequence for one in whole] == sequences[4::-1]
    assert [one.retracted for one in whole] == [False, True, False, True, False]
    gone = whole[1]
    assert (gone.user, gone.item) == (ANN, rows[1].item)
    assert (gone.time, gone.weight, gone.at, gone.negative, gone.metadata) == (None,) * 4 + ({},)
    assert [flag for _, flag in await list_events(store, rows[0].item)] == [False, True]
    pages, before = [], None
    while page := await store.get_client_events(ANN, 2, before):
        pages.append([one.sequence for one in page])
        before = page[-1].sequence
    assert pages == [[sequences[4], sequences[3]], [sequences[2], sequences[1]], [sequences[0]]]


async def test_forgotten_events_are_in_no_list(store):
    sequences = await record_pairs(store, ("ann", "i"), ("bob", "i"), ("ann", "i"))
    await learn_all(store)
    await withdraw_events(
        store, EntryKind.RETRACTION, (ANN,), await store.get_interactions(sequences[:1])
    )
    rows = await store.get_interactions_of_clients([ANN])
    await withdraw_events(store, EntryKind.ERASURE, (ANN,), rows, erased=ANN)
    assert await list_events(store, ANN) == []
    found = await store.get_client_events(item(0), 10)
    assert [(one.sequence, one.user) for one in found] == [(sequences[1], BOB)]


async def test_entries_of_some_kinds_newest_first(store, clock):
    await record_pairs(store, ("ann", "i"))
    rounds = []
    for step in range(3):
        clock.ms += 1_000
        rounds.append((await run_round(store)).sequence)
        await record_pairs(store, (f"u{step}", "i"))
    await learn_all(store)
    rows = await store.get_interactions_of_clients([ANN])
    await withdraw_events(store, EntryKind.RETRACTION, (ANN,), rows)
    both = [EntryKind.ROUND, EntryKind.RETRACTION]
    found = await store.get_entries_before(NEWEST, both, 100)
    last = await store.get_recorded_through()
    assert [one.sequence for one in found] == [last, *reversed(rounds)]
    assert found[0].kind == EntryKind.RETRACTION
    assert found[0].refs == (ANN,)
    assert [one.number for one in found[1:]] == [3, 2, 1]
    assert [one.time for one in found[1:]] == [clock.ms, clock.ms - 1_000, clock.ms - 2_000]
    assert await store.get_entries_before(rounds[2], both, 1) == [found[2]]
    assert list(await store.get_entries_before(NEWEST, [EntryKind.ERASURE], 100)) == []
