"""The learn port: fencing, blocks in order, checkpoints and barriers, epochs."""

import dataclasses

import numpy as np
import pytest

from propagation.model import EntryKind, Epoch, LeaseLost
from tests.contract.graph_store import block, checkpoint, record_pairs

EPOCH = Epoch(number=1, sequence=0, session_k=4, taste_k=4, tau=0.71, embedder="hashed")


@pytest.fixture
async def lease(store):
    await record_pairs(store, ("u0", "i0"), ("u1", "i1"), ("u0", "i1"))
    return await store.acquire_lease("learn", "me", 10_000)


def assert_same_fields(one, other):
    for field in dataclasses.fields(one):
        np.testing.assert_array_equal(
            getattr(one, field.name), getattr(other, field.name), strict=True
        )


async def test_a_block_comes_back_bit_for_bit(store, lease, reopen):
    made = [block(0, 2, [2], seed=1), block(2, 4, [3, 4], seed=2)]
    for part in made:
        await store.commit_learned(lease, part)
    store = await reopen()
    for one, other in zip(await store.read_learned(0, 10), made, strict=True):
        assert_same_fields(one, other)
    assert [part.through for part in await store.read_learned(2, 10)] == [4]
    assert [part.through for part in await store.read_learned(0, 1)] == [2]
    assert await store.get_learned_through() == 4


async def test_a_block_without_interactions_moves_learn_on(store, lease):
    await store.commit_learned(lease, block(0, 1, []))
    assert await store.get_learned_through() == 1
    (part,) = await store.read_learned(0, 5)
    assert part.weights.shape == (0, 2, 16)


async def test_a_holder_that_lost_the_lease_changes_nothing(store, lease, clock):
    clock.ms += 10_001
    newer = await store.acquire_lease("learn", "other", 10_000)
    assert newer.token > lease.token
    for commit in (
        store.commit_learned(lease, block(0, 2, [2])),
        store.save_checkpoint(lease, checkpoint(2)),
        store.replace_learned(lease, [block(0, 2, [2])], first=True),
        store.open_epoch(lease, EPOCH, checkpoint(2)),
    ):
        with pytest.raises(LeaseLost):
            await commit
    assert (
        await store.get_learned_through(),
        await store.get_newest_checkpoint(),
        await store.get_current_epoch(),
    ) == (0, None, None)


async def test_a_block_that_does_not_follow_is_refused(store, lease):
    await store.commit_learned(lease, block(0, 2, [2]))
    for wrong in (block(0, 2, [2]), block(0, 4, [2, 3, 4]), block(3, 4, [4])):
        with pytest.raises(LeaseLost):
            await store.commit_learned(lease, wrong)
    assert await store.get_learned_through() == 2


async def test_a_checkpoint_covers_increments_of_trust(store, lease):
    await store.commit_learned(lease, block(0, 2, [2]))
    await store.commit_learned(lease, block(2, 4, [3, 4]))
    await store.save_checkpoint(lease, checkpoint(2))
    covered, open_ = await store.read_learned(0, 5)
    assert covered.trust.shape == (1, 2, 0)
    assert open_.trust.shape == (2, 2, 4)
    assert covered.weights.any()


async def test_checkpoints_come_back_and_older_ones_go_but_no_barrier(store, lease, reopen):
    await store.save_checkpoint(lease, checkpoint(1, barrier=True))
    await store.save_checkpoint(lease, checkpoint(2, rows=600_000))
    await store.save_checkpoint(lease, checkpoint(3, rows=400_000))
    store = await reopen()
    newest, barrier = (
        await store.get_newest_checkpoint(),
        await store.get_newest_checkpoint(barrier=True),
    )
    assert (newest.sequence, newest.barrier, barrier.sequence, barrier.barrier) == (
        3,
        False,
        1,
        True,
    )
    for name, array in checkpoint(3, rows=400_000).arrays.items():
        np.testing.assert_array_equal(newest.arrays[name], array, strict=True)


async def test_an_epoch_replaces_what_was_learned_in_one_publication(store, lease, reopen):
    await store.commit_learned(lease, block(0, 4, [2, 3, 4], seed=1))
    await store.replace_learned(lease, [block(0, 1, [], epoch=9)], first=True)
    await store.replace_learned(lease, [block(0, 2, [2], epoch=1, seed=5)], first=True)
    await store.replace_learned(lease, [block(2, 4, [3, 4], epoch=1, seed=6)], first=False)
    assert [part.epoch for part in await store.read_learned(0, 9)] == [0]
    sequence = await store.open_epoch(lease, EPOCH, checkpoint(4, barrier=True, epoch=1))
    store = await reopen()
    assert [(part.through, part.epoch) for part in await store.read_learned(0, 9)] == [
        (2, 1),
        (4, 1),
    ]
    assert await store.get_current_epoch() == EPOCH.model_copy(update={"sequence": sequence})
    assert (await store.get_newest_checkpoint()).barrier
    (entry,) = (await store.read_log(4, 9)).entries
    assert (entry.kind, entry.number, entry.sequence) == (EntryKind.BOOTSTRAP, 1, sequence)


async def test_epochs_are_listed_oldest_first(store, lease):
    for number in (1, 2):
        await store.open_epoch(
            lease,
            EPOCH.model_copy(update={"number": number}),
            checkpoint(0, barrier=True, epoch=number),
        )
    assert [epoch.number for epoch in await store.get_epochs()] == [1, 2]
    assert (await store.get_current_epoch()).number == 2


async def test_one_holder_at_a_time(store, clock):
    mine = await store.acquire_lease("round", "me", 1_000)
    assert await store.acquire_lease("round", "other", 1_000) is None
    assert (await store.acquire_lease("round", "me", 1_000)).token == mine.token
    assert (await store.get_lease_holder("round"), await store.get_lease_holder("nothing")) == (
        "me",
        None,
    )
    assert (await store.acquire_lease("learn", "other", 1_000)) is not None
    await store.release_lease(mine)
    theirs = await store.acquire_lease("round", "other", 1_000)
    assert theirs.token > mine.token
    await store.release_lease(mine)
    assert await store.acquire_lease("round", "me", 1_000) is None
    clock.ms += 1_000
    assert (await store.acquire_lease("round", "me", 1_000)).token > theirs.token


async def test_a_clock_that_jumps_back_does_not_lock_a_lease_for_long(store, clock):
    await store.acquire_lease("round", "gone", 1_000)
    clock.ms -= 365 * 24 * 3_600_000
    assert await store.acquire_lease("round", "me", 1_000) is not None


async def test_what_was_written_to_the_taste_bank_largest_first(store, lease):
    learned = block(0, 4, [2, 3, 4])
    learned.weights[:] = 0
    learned.routers[0, 1, :4], learned.weights[0, 1, :4] = (3, 1, 2, 0), (0.25, 0.5, 0.25, 0)
    learned.routers[2, 0, 0], learned.weights[2, 0, 0] = 1, 0.75
    learned.routers[2, 1, 0], learned.weights[2, 1, 0] = 2, 0.125
    await store.commit_learned(lease, learned)
    assert await store.get_taste_written([4, 2, 3, 1, 99, 2]) == {
        2: [(1, 0.5), (2, 0.25), (3, 0.25)],
        4: [(2, 0.125)],
    }
    assert await store.get_taste_written([]) == {}


async def test_tau_is_fixed_by_whoever_holds_the_lease(store, clock):
    learning = await store.acquire_lease("learn", "me", 10_000)
    await store.open_epoch(
        learning, EPOCH.model_copy(update={"tau": None}), checkpoint(0, barrier=True, epoch=1)
    )
    mine = await store.acquire_lease("round", "me", 10_000)
    await store.fix_tau(mine, 1, 0.25)
    assert [(epoch.number, epoch.tau) for epoch in await store.get_epochs()] == [(1, 0.25)]
    clock.ms += 10_001
    theirs = await store.acquire_lease("round", "other", 10_000)
    with pytest.raises(LeaseLost):
        await store.fix_tau(mine, 1, 0.5)
    assert (await store.get_current_epoch()).tau == 0.25
    await store.fix_tau(theirs, 1, 0.75)
    assert (await store.get_current_epoch()).tau == 0.75
