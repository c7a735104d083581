"""A service that stops asks no model any more, and waits for none longer than it was told."""

import asyncio
import time
from dataclasses import replace

import pytest

from propagation.adapters.fallback.reasoner import FallbackReasoner
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import ReasonerStopping
from tests.unit.adapters.openai.test_server_habits import parties
from tests.unit.parties import work

LONG = 60.0


async def forward(reasoner):
    reader, positive, negative = parties()
    return await reasoner.forward(work(), reader, [positive, negative], (0.7, 0.2))


async def measure_stop(reasoner, seconds):
    """How long a question that is under way takes to end once the service stops."""
    asked = asyncio.create_task(forward(reasoner))
    await asyncio.sleep(0.2)
    begun = time.monotonic()
    reasoner.stop_within(seconds)
    with pytest.raises(ReasonerStopping):
        await asked
    return time.monotonic() - begun


@pytest.mark.parametrize("seconds", [0.0, 0.3])
async def test_an_endpoint_that_hangs_is_left_in_time(open_reasoner, seconds):
    async with open_reasoner(timeout=LONG) as asked:
        await asked.reasoner.backward(
            work(), 1, *parties()
        )  # the server is known then; an equal question would be kept
        asked.server.script = replace(asked.server.script, latency=LONG)
        assert seconds <= await measure_stop(asked.reasoner, seconds) < seconds + 1


async def test_who_waits_for_a_turn_asks_no_more(open_reasoner):
    async with open_reasoner(calls_per_minute=1) as asked:
        waiting = asyncio.create_task(forward(asked.reasoner))
        await asyncio.sleep(0.2)
        calls = asked.server.seen.calls.total()
        assert await measure_stop(asked.reasoner, 0.1) < 1
        with pytest.raises(ReasonerStopping):
            await waiting
        assert asked.server.seen.calls.total() == calls


async def test_what_is_answered_in_time_counts_and_nothing_is_begun_after(open_reasoner):
    async with open_reasoner() as asked:
        await forward(asked.reasoner)
        asked.server.script = replace(asked.server.script, latency=0.3)
        under_way = asyncio.create_task(asked.reasoner.backward(work(), 1, *parties()))
        await asyncio.sleep(0.1)
        asked.reasoner.stop_within(5)
        assert (await under_way).usage.total.calls == 1
        calls = asked.server.seen.calls.total()
        with pytest.raises(ReasonerStopping):
            await asked.reasoner.backward(work(), 0, *parties())
        assert asked.server.seen.calls.total() == calls


async def test_nobody_stands_in_for_a_model_that_is_not_asked_since_the_service_stops(
    open_reasoner,
):
    async with open_reasoner() as asked:
        reasoner = FallbackReasoner(asked.reasoner, OfflineReasoner(), unavailable=True)
        reasoner.stop_within(0)
        with pytest.raises(ReasonerStopping):
            await forward(reasoner)
