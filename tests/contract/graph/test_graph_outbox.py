"""The outbox port: what the index has to learn waits with the commit that made it, until the index
has it."""

import pytest

from propagation.model import LeaseLost
from propagation.ports import Collection, IndexChange, VersionClash
from tests.contract.graph_store import (
    item,
    learn_all,
    message,
    reasoned_interaction,
    record_pairs,
    run_round,
    text,
    user,
)

ANN, RECORD = user(0), item(0)
ANN_1, ANN_2 = IndexChange(Collection.USERS, ANN, 1), IndexChange(Collection.USERS, ANN, 2)


async def list_pending_changes(store, age_ms=0, limit=99):
    return list(await store.get_pending_changes(age_ms, limit))


async def begin_round(store):
    """A round that is open, and its lease."""
    lease = await store.acquire_lease("round", "test", 60_000)
    return lease, await store.begin_round(lease, 0)


async def test_texts_wait_with_the_commit_that_wrote_them(store):
    assert (await list_pending_changes(store), await store.count_changes()) == ([], 0)
    await record_pairs(store, ("u0", "i0"))
    await learn_all(store)
    claim = await store.claim_reason("test", 9, 60_000)
    await store.commit_reasoned(
        claim,
        [reasoned_interaction(claim.work[0].sequence, text(ANN, 1), text(ANN, 2), text(RECORD, 1))],
    )
    await store.commit_texts([text(RECORD, 2)], [], 1)
    assert set(await list_pending_changes(store)) == {
        ANN_2,
        IndexChange(Collection.ITEMS, RECORD, 2),
    }
    assert await store.count_changes() == 2


async def test_a_commit_that_failed_leaves_nothing_waiting(store):
    await record_pairs(store, ("u0", "i0"))
    with pytest.raises(VersionClash):
        await store.commit_texts([text(ANN, 7)], [], 1)
    assert await list_pending_changes(store) == []


async def test_it_waits_over_a_restart(reopen):
    store = await reopen()
    await record_pairs(store, ("u0", "i0"))
    await store.commit_texts([text(ANN, 1)], [], 1)
    assert await list_pending_changes(await reopen()) == [ANN_1]


async def test_what_the_index_has_goes_and_what_is_newer_stays(store):
    await record_pairs(store, ("u0", "i0"))
    await store.commit_texts([text(ANN, 1), text(RECORD, 1)], [], 1)
    await store.commit_texts([text(ANN, 2)], [], 1)
    await store.drop_changes([])
    await store.drop_changes(
        [ANN_1, IndexChange(Collection.ITEMS, RECORD, 1), IndexChange(Collection.ROUTERS, 5, 1)]
    )
    assert await list_pending_changes(store) == [ANN_2]
    await store.drop_changes([ANN_2])
    assert await list_pending_changes(store) == []


async def test_the_longest_waiting_come_first_and_only_those_of_an_age(store, clock):
    await record_pairs(store, ("u0", "i0"))
    await store.commit_texts([text(ANN, 1)], [], 1)
    clock.ms += 1_000
    await store.commit_texts([text(RECORD, 1)], [], 1)
    clock.ms += 1_000
    assert [change.key for change in await list_pending_changes(store)] == [ANN, RECORD]
    assert await list_pending_changes(store, limit=1) == [ANN_1]
    assert await list_pending_changes(store, age_ms=1_500) == [ANN_1]
    await store.commit_texts([text(ANN, 2)], [], 1)
    assert await list_pending_changes(store, age_ms=1_500) == [], "it was put in again"
    assert await list_pending_changes(store) == [IndexChange(Collection.ITEMS, RECORD, 1), ANN_2]


async def test_what_a_round_staged_waits_from_its_publication_on(store):
    lease, round_ = await begin_round(store)
    changes = [
        IndexChange(Collection.ROUTERS, 5, 3),
        IndexChange(Collection.ATTRIBUTES, "5", 1),
        IndexChange(Collection.ATTRIBUTES, 'naïve "x"\n', 1),
        ANN_2,
    ]
    await store.stage_changes(lease, round_, changes)
    await store.stage_changes(lease, round_, [])
    assert await list_pending_changes(store) == []
    published = await store.publish_round(lease, round_)
    assert set(await list_pending_changes(store)) == {
        IndexChange(c.collection, c.key, c.version, published.number) for c in changes
    }


async def test_what_an_unfinished_round_staged_is_discarded(store):
    lease, round_ = await begin_round(store)
    await store.stage_changes(lease, round_, [ANN_1])
    await run_round(store, versions=(message(3, 1, ANN),))
    assert await list_pending_changes(store) == []


async def test_of_one_point_each_round_waits_by_itself(store):
    """A round maps an attribute while the text's own version is on its way: neither covers the
    other."""
    await record_pairs(store, ("u0", "i0"))
    await store.commit_texts([text(ANN, 1)], [], 1)
    lease, round_ = await begin_round(store)
    await store.stage_changes(lease, round_, [ANN_1])
    published = await store.publish_round(lease, round_)
    await store.drop_changes([ANN_1])
    assert await list_pending_changes(store) == [
        IndexChange(Collection.USERS, ANN, 1, published.number)
    ]


async def test_a_round_that_lost_its_lease_stages_nothing(store, clock):
    lease, round_ = await begin_round(store)
    clock.ms += 60_001
    await store.acquire_lease("round", "another", 60_000)
    with pytest.raises(LeaseLost):
        await store.stage_changes(lease, round_, [ANN_1])
