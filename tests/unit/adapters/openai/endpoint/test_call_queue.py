"""Waiting calls get slots by kinds of work: interactions at least half of them."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from propagation.adapters.openai.endpoint.call_limits import RateLimiter
from propagation.adapters.openai.endpoint.call_queue import CallQueue, WaitingCall
from propagation.ports import ModelWork, asking_for, current_work

INTERACTION, READ, DESCRIPTION, ROUTERS = ModelWork


async def pass_steps(count):
    """Let the loop go on by some steps, which are the tests' only measure of time."""
    for _ in range(count):
        await asyncio.sleep(0)


async def make_calls(limiter, work, count, begun, steps=1):
    """Ask `count` times at once, and note the kind of each call as it begins."""

    async def call():
        async with limiter.slot(1):
            begun.append(work)
            await pass_steps(steps)

    with asking_for(work):
        await asyncio.gather(*(call() for _ in range(count)))


async def take(queue, turns):
    """Let calls begin, and return their kinds."""
    kinds = []
    for _ in range(turns):
        call = queue.choose()
        queue.begin(call)
        kinds.append(call.work)
    return kinds


async def test_interactions_get_half_of_the_turns_while_all_other_kinds_wait():
    queue = CallQueue()
    for work in reversed(ModelWork):
        for _ in range(60):
            queue.add(WaitingCall(work, 1))
    counts = Counter(await take(queue, 60))
    assert counts == {INTERACTION: 30, READ: 10, DESCRIPTION: 10, ROUTERS: 10}
    assert INTERACTION.share == sum(work.share for work in ModelWork if work is not INTERACTION)


async def test_calls_of_one_kind_begin_in_the_order_of_asking():
    queue = CallQueue()
    calls = [WaitingCall(ROUTERS, number) for number in range(5)]
    for call in calls:
        queue.add(call)
    queue.remove(calls[2])
    assert [call.tokens for call in queue] == [0, 1, 3, 4]
    order = []
    while (call := queue.choose()) is not None:
        order.append(call.tokens)
        queue.begin(call)
    assert order == [0, 1, 3, 4]


async def test_a_kind_that_asked_nothing_for_long_gets_no_more_than_its_share_afterwards():
    queue = CallQueue()
    for _ in range(200):
        queue.add(WaitingCall(INTERACTION, 1))
    await take(queue, 100)
    for _ in range(100):
        queue.add(WaitingCall(ROUTERS, 1))
    counts = Counter(await take(queue, 40))
    assert counts[ROUTERS] in (10, 11)


async def test_a_kind_alone_gets_every_slot():
    limiter, begun = RateLimiter(4), []
    await make_calls(limiter, ROUTERS, 20, begun)
    assert begun == [ROUTERS] * 20
    assert limiter.running == 0


@pytest.mark.parametrize("in_flight", [1, 4])
async def test_an_interaction_that_asks_one_question_after_another_is_not_kept_waiting(in_flight):
    """Its next question comes after the answer to the last one, when the slot is free already."""
    limiter, begun = RateLimiter(in_flight), []

    async def interact():
        for _ in range(15):
            await make_calls(limiter, INTERACTION, 1, begun, 50)
            await pass_steps(10)

    summaries = asyncio.create_task(make_calls(limiter, ROUTERS, 200, begun, 50))
    await pass_steps(100)
    begun.clear()
    await asyncio.gather(*(interact() for _ in range(in_flight)))
    last = len(begun) - begun[::-1].index(INTERACTION)
    counts = Counter(begun[:last])
    assert counts[INTERACTION] == 15 * in_flight
    assert counts[ROUTERS] <= counts[INTERACTION] + in_flight
    await summaries


@pytest.mark.parametrize("interacting", [1, 4])
async def test_long_calls_of_other_kinds_leave_half_of_the_slots_to_short_interactions(interacting):
    """While routers' calls take 1,000 steps each, interactions of 5 steps go on."""
    limiter, begun, most = RateLimiter(4), [], 0

    async def interact():
        nonlocal most
        for _ in range(100):
            await make_calls(limiter, INTERACTION, 1, begun, 5)
            await pass_steps(10)  # the answer is committed, and nothing waits meanwhile
            most = max(most, limiter._running[ROUTERS])

    # Both ask when all slots are held, so that the first turns are the interactions'.
    async with AsyncExitStack() as slots:
        for _ in range(4):
            await slots.enter_async_context(limiter.slot(1))
        limiter.keep_for(interacting)
        interactions = [asyncio.create_task(interact()) for _ in range(interacting)]
        summaries = asyncio.create_task(make_calls(limiter, ROUTERS, 12, begun, 1_000))
        await pass_steps(5)
    for _ in range(4_000):
        if all(task.done() for task in interactions):
            break
        await pass_steps(1)
    counts = Counter(begun)
    assert counts[INTERACTION] == 100 * interacting
    assert 2 <= counts[ROUTERS] <= 8, "they go on, too"
    assert most == (3 if interacting == 1 else 2)
    assert not summaries.done()
    await summaries
    assert limiter.running == 0


@pytest.mark.parametrize(("interactions", "others"), [(0, 4), (1, 3), (2, 2), (9, 2)])
async def test_each_interaction_under_way_keeps_a_slot_up_to_half_of_them(interactions, others):
    """However long it does not ask: no timer lets others have the slot."""
    limiter, begun = RateLimiter(4), []
    limiter.keep_for(interactions)
    summaries = asyncio.create_task(make_calls(limiter, ROUTERS, 4, begun, 10_000_000))
    await pass_steps(1_000)
    assert limiter.running == others
    if interactions:
        await asyncio.wait_for(make_calls(limiter, INTERACTION, 1, begun), 5)
    limiter.keep_for(0)
    await pass_steps(5)
    assert limiter.running == 4, "no interaction is under way"
    summaries.cancel()
    await asyncio.gather(summaries, return_exceptions=True)
    assert limiter.running == 0


async def test_calls_that_may_not_begin_earn_no_turns_for_later():
    queue = CallQueue()
    for work in (INTERACTION, ROUTERS):
        for _ in range(200):
            queue.add(WaitingCall(work, 1))
    for _ in range(100):
        queue.begin(queue.choose({INTERACTION}))
    counts = Counter(await take(queue, 40))
    assert counts[ROUTERS] in (10, 11)


async def test_a_cancelled_call_leaves_neither_a_slot_nor_its_place():
    limiter, begun = RateLimiter(1), []
    async with limiter.slot(1):
        waiting = asyncio.create_task(make_calls(limiter, ROUTERS, 3, begun))
        await pass_steps(2)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert limiter.running == 0
    # Cancelled between the slot and the first step with it.
    async with limiter.slot(1):
        late = asyncio.create_task(make_calls(limiter, ROUTERS, 1, begun))
        await pass_steps(2)
    assert (limiter.running, begun) == (1, [])
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    assert limiter.running == 0
    await make_calls(limiter, READ, 2, begun)
    assert begun[-2:] == [READ] * 2


async def test_a_call_cancelled_in_the_same_turn_as_another_ends_gets_no_slot():
    """A common deadline cancels both; the one that waits is still queued when the slot is free."""
    limiter, begun = RateLimiter(1), []
    running, waiting, last = (
        asyncio.create_task(make_calls(limiter, ROUTERS, 1, begun, steps))
        for steps in (10_000, 10_000, 1)
    )
    await pass_steps(5)
    running.cancel()
    waiting.cancel()
    ended = await asyncio.gather(running, waiting, return_exceptions=True)
    assert [type(error) for error in ended] == [asyncio.CancelledError] * 2
    await asyncio.wait_for(last, 5)
    assert (limiter.running, begun) == (0, [ROUTERS] * 2)


async def test_a_call_waits_for_the_end_of_a_pause():
    limiter, begun = RateLimiter(2), []
    limiter.pause(0.05)
    started = asyncio.get_running_loop().time()
    await make_calls(limiter, READ, 3, begun)
    assert len(begun) == 3
    assert asyncio.get_running_loop().time() - started >= 0.05


async def test_questions_and_the_tasks_that_they_start_are_of_the_kind_that_asks():
    async def find_work():
        return current_work.get()

    assert await find_work() is READ, "a program that names no kind"
    with asking_for(ROUTERS):
        task = asyncio.create_task(find_work())
        with asking_for(INTERACTION):
            assert await find_work() is INTERACTION
        assert await find_work() is ROUTERS
    assert (await task, await find_work()) == (ROUTERS, READ)
