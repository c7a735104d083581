"""The overlap of activities, the order of their locks, and their waits."""

import asyncio

import pytest

from propagation.workflow.concurrency.exclusion import (
    LOCKED,
    Activity,
    CommitLock,
    Exclusion,
    Resource,
)


class Interactions:
    """Interactions that the reasoner still works on."""

    def __init__(self):
        self.settled = 0

    async def settle(self):
        self.settled += 1


@pytest.fixture
def interactions():
    return Interactions()


@pytest.fixture
def exclusion(interactions):
    return Exclusion(interactions.settle)


async def can_overlap(exclusion, outer, inner):
    """Tell whether `inner` can begin while `outer` runs in another task."""

    async def run_inner():
        async with exclusion.run(inner):
            pass

    async with exclusion.run(outer):
        other = asyncio.create_task(run_inner())
        for _ in range(20):
            await asyncio.sleep(0)
        began = other.done()
    await other
    return began


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (Activity.LEARN, Activity.REASON),
        (Activity.LEARN, Activity.ROUND),
        (Activity.REASON, Activity.ROUND),
        (Activity.LEARN, Activity.EVOLVE),
        (Activity.REASON, Activity.EVOLVE),
        (Activity.PUBLISH_EVOLUTION, Activity.LEARN),
        (Activity.REINDEX, Activity.LEARN),
        (Activity.ERASE, Activity.LEARN),
    ],
)
async def test_activities_overlap_that_change_different_things(exclusion, outer, inner):
    assert await can_overlap(exclusion, outer, inner)
    assert await can_overlap(exclusion, inner, outer)


@pytest.mark.parametrize(
    "blocked", [Activity.LEARN, Activity.REASON, Activity.ROUND, Activity.EVOLVE]
)
@pytest.mark.parametrize("outer", [Activity.BOOTSTRAP, Activity.WITHDRAW])
async def test_nothing_that_changes_data_overlaps_a_bootstrap_or_a_withdrawal(
    exclusion, outer, blocked
):
    assert not await can_overlap(exclusion, outer, blocked)
    assert not await can_overlap(exclusion, blocked, outer)


@pytest.mark.parametrize("activity", list(Activity))
async def test_only_merges_at_a_read_overlap_themselves(exclusion, activity):
    assert await can_overlap(exclusion, activity, activity) == (activity is Activity.MERGE)


async def test_a_withdrawal_waits_for_merges_at_reading_and_keeps_later_ones_out(exclusion):
    began = asyncio.Event()

    async def withdraw():
        async with exclusion.run(Activity.WITHDRAW):
            began.set()

    async with exclusion.run(Activity.MERGE):
        withdrawal = asyncio.create_task(withdraw())
        await asyncio.sleep(0.01)
        assert not began.is_set(), "a reader's call merges messages"
    await withdrawal


@pytest.mark.parametrize(
    ("activity", "settles"),
    [
        (Activity.REASON, False),
        (Activity.UPDATE_INDEX, False),
        (Activity.REPLAY_DEAD_LETTERS, True),
        (Activity.REINDEX, True),
        (Activity.PUBLISH_EVOLUTION, True),
        (Activity.BOOTSTRAP, True),
        (Activity.WITHDRAW, True),
    ],
)
async def test_interactions_under_way_are_settled_where_that_is_needed(
    exclusion, interactions, activity, settles
):
    async with exclusion.run(activity):
        assert interactions.settled == settles


async def test_one_activity_runs_inside_another_only_in_the_order_of_locking(exclusion):
    async with (
        exclusion.run(Activity.EVOLVE),
        exclusion.run(Activity.PUBLISH_EVOLUTION),
        exclusion.run(Activity.LEARN),
    ):
        with pytest.raises(RuntimeError, match="learn"):
            async with exclusion.run(Activity.LEARN):
                pass
        with pytest.raises(RuntimeError, match="reason"):
            async with exclusion.run(Activity.REASON):
                pass
    async with exclusion.run(Activity.REASON):
        pass


async def test_activities_that_share_resources_never_wait_for_each_other_in_a_circle(exclusion):
    async def run(activity):
        for _ in range(5):
            async with exclusion.run(activity):
                await asyncio.sleep(0)

    async with asyncio.timeout(5):
        await asyncio.gather(*(run(activity) for activity in Activity for _ in range(3)))


def test_every_activity_locks_in_the_order_of_the_resources():
    for activity in Activity:
        assert list(LOCKED[activity]) == sorted(LOCKED[activity]), activity
    assert {resource for locked in LOCKED.values() for resource in locked} == set(Resource)


async def test_a_reservation_whose_holder_is_cancelled_twice_wakes_those_who_wait():
    lock, inside = CommitLock(), asyncio.Event()

    async def hold_on():
        async with lock.reserve([1]):
            await inside.wait()

    async def commit():
        async with lock.hold([1]):
            return "committed"

    holder = asyncio.create_task(hold_on())
    await asyncio.sleep(0)
    waiter = asyncio.create_task(commit())
    await asyncio.sleep(0)
    async with lock.hold([2]):  # so that the reservation has to wait for the lock at its end
        holder.cancel()
        await asyncio.sleep(0)
        holder.cancel()
        await asyncio.wait([holder])
    assert await asyncio.wait_for(waiter, 1) == "committed"
