"""Items that only a client's events named go with it, and no log entry tells of them.

Source: docs/erasure.md.
"""

import pytest

from propagation.graph_rules import split_words
from propagation.model import ClientKey, ClientKind, EntryKind, Withdrawal
from propagation.ports import VersionClash
from tests.contract.graph_store import (
    change,
    checkpoint,
    event,
    learn_all,
    reasoned_interaction,
    text,
    user,
    withdraw,
)

ITEM = ClientKind.ITEM
ANN, BOB = user(0), user(1)


def erasure(ref, rows, **fields):
    return Withdrawal(kind=EntryKind.ERASURE, refs=(ref,), interactions=rows, erased=ref, **fields)


async def acquire_learn_lease(store):
    return await store.acquire_lease("learn", "test", 60_000)


async def find_ref(store, id_, kind=ITEM):
    (ref,) = await store.find_refs([ClientKey(kind, id_)])
    return ref


async def find_refs(store, *ids):
    return [await find_ref(store, id_) for id_ in ids]


async def record(store, *events):
    answer = await store.record(events, auto_create=True)
    await learn_all(store)
    return [outcome.sequence for outcome in answer.outcomes]


async def retract(store, user_, *sequences):
    rows = await store.get_interactions(sequences)
    withdrawal = Withdrawal(kind=EntryKind.RETRACTION, refs=(user_,), interactions=rows)
    through = await store.get_learned_through()
    await withdraw(
        store, await acquire_learn_lease(store), withdrawal, checkpoint(through, barrier=True)
    )


async def erase(store, ref):
    rows = await store.get_interactions_of_clients([ref])
    through = await store.get_learned_through()
    return await withdraw(
        store,
        await acquire_learn_lease(store),
        erasure(ref, rows),
        checkpoint(through, barrier=True),
    )


async def read_entries(store):
    return await store.read_entries(0, await store.get_recorded_through())


async def test_an_orphan_is_what_only_events_of_the_client_name(store):
    await store.upsert_clients([change(ITEM, "listed", title="Listed")])
    await record(
        store,
        event("1", "ann", "alone"),
        event("2", "ann", "shared"),
        event("3", "bob", "shared"),
        event("4", "ann", "passed by bob"),
        event("5", "bob", "listed", negative_id="passed by bob"),
        event("6", "ann", "listed", negative_id="passed by ann"),
        event("7", "ann", "named later"),
        event("8", "ann", "described later"),
        event("9", "bob", "of bob"),
    )
    await store.upsert_clients(
        [change(ITEM, "named later"), change(ITEM, "described later", title="Described")]
    )
    assert await store.find_orphans(ANN) == await find_refs(store, "alone", "passed by ann")
    assert await store.find_orphans(BOB) == await find_refs(store, "of bob")
    of_item = await store.find_orphans(await find_ref(store, "listed"))
    assert of_item == await find_refs(store, "passed by ann"), "ann chose the other one"


async def test_retracted_events_name_items_too(store):
    sequences = await record(
        store,
        event("1", "ann", "of ann"),
        event("2", "ann", "of both"),
        event("3", "bob", "of both"),
    )
    await retract(store, ANN, sequences[0])
    await retract(store, BOB, sequences[2])
    assert await find_ref(store, "of ann"), "a retraction keeps it"
    assert await store.find_orphans(ANN) == await find_refs(store, "of ann")


async def test_an_upsert_alone_makes_an_item_stay(store):
    await record(store, event("1", "ann", "blue"))
    (outcome,) = await store.upsert_clients([change(ITEM, "blue")])
    assert (outcome.created, outcome.changed) == (False, True)
    (again,) = await store.upsert_clients([change(ITEM, "blue")])
    assert (again.changed, again.sequence) == (False, outcome.sequence)
    assert await store.find_orphans(ANN) == []
    assert not (await store.get_clients([await find_ref(store, "blue")]))[0].only_in_events


async def test_orphans_go_with_all_that_is_held_of_them(store):
    first, *_ = await record(store, event("1", "ann", "wugga"), event("2", "bob", "shared"))
    orphan = await find_ref(store, "wugga")
    claim = await store.claim_reason("w", 9, 1_000)
    texts = text(ANN, 1), text(orphan, 1, "heard of zydeco")
    await store.commit_reasoned(
        claim, [reasoned_interaction(first, *texts), reasoned_interaction(first + 1, user=BOB)]
    )
    await erase(store, ANN)
    assert await find_ref(store, "wugga") is None
    assert await store.get_clients([orphan]) == []
    assert await store.count_clients(ITEM) == 1
    assert await store.find_clients_by_words(ITEM, split_words(["wug"]), -1, 9) == []
    assert orphan not in await store.get_text_versions()
    assert [one async for one in store.export_client(orphan)] == []
    assert await store.check() == []
    await record(store, event("3", "bob", "wugga"))
    assert await find_ref(store, "wugga") > orphan, "a ref is not given again"


async def test_no_log_entry_holds_an_erased_client_beside_others(store):
    await store.upsert_clients(
        [change(ClientKind.USER, "ann"), change(ClientKind.USER, "bob"), change(ITEM, "listed")]
    )
    sequences = await record(
        store, event("1", "ann", "alone"), event("2", "ann", "shared"), event("3", "bob", "shared")
    )
    await store.upsert_clients(
        [change(ClientKind.USER, "ann", title="Ann"), change(ITEM, "listed", title="Listed")]
    )
    rows = await store.get_interactions(sequences[1:])
    await withdraw(
        store,
        await acquire_learn_lease(store),
        Withdrawal(kind=EntryKind.RETRACTION, refs=(ANN, BOB), interactions=rows),
        checkpoint(await store.get_learned_through(), barrier=True),
    )
    orphan, shared, listed = await find_refs(store, "alone", "shared", "listed")
    done = await erase(store, ANN)
    entries = [(entry.kind, entry.refs) for entry in await read_entries(store)]
    assert entries == [
        (EntryKind.CLIENTS, (BOB, listed)),
        (EntryKind.CLIENTS, (shared,)),
        (EntryKind.CLIENTS, (listed,)),
        (EntryKind.RETRACTION, (BOB,)),
        (EntryKind.ORPHANS, (orphan,)),
        (EntryKind.ERASURE, (ANN,)),
    ]
    assert (await read_entries(store))[-1].sequence == done.sequence
    assert await store.check() == []


@pytest.mark.parametrize("other", ["names it", "creates another"])
async def test_an_event_that_changes_which_items_go_makes_the_erasure_begin_again(store, other):
    await record(store, event("1", "ann", "alone"))
    orphans = tuple(await store.find_orphans(ANN))
    rows = await store.get_interactions_of_clients([ANN])
    lease = await acquire_learn_lease(store)
    staged = await store.stage_checkpoint(lease, checkpoint(2, barrier=True))
    late = event("2", "bob", "alone") if other == "names it" else event("2", "ann", "another")
    await store.record([late], auto_create=True)
    with pytest.raises(VersionClash):
        await store.withdraw(lease, erasure(ANN, rows, orphans=orphans), staged)
    assert await find_ref(store, "alone") == orphans[0]
    assert len(await store.get_interactions_of_clients([ANN])) == 1 + (other != "names it")
