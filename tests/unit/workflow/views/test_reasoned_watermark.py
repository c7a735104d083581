"""Concurrent answers share one read of the reasoned watermark.

The watermark is never older than it may be.
"""

import asyncio

from propagation.workflow.views import reasoned_watermark
from propagation.workflow.views.reasoned_watermark import ReasonedWatermark


class SlowStore:
    """Answers 1, 2, 3 and so on, once `answering` is set."""

    def __init__(self):
        self.reads = 0
        self.answering = asyncio.Event()

    async def get_reasoned_through(self):
        self.reads += 1
        answer = self.reads
        await self.answering.wait()
        return answer


async def test_concurrent_callers_share_one_read_and_none_gets_the_value_before_it(monkeypatch):
    monkeypatch.setattr(reasoned_watermark, "FRESH_SECONDS", 0)
    store = SlowStore()
    watermark = ReasonedWatermark(store)
    store.answering.set()
    assert await watermark.read() == 1
    store.answering.clear()
    callers = [asyncio.create_task(watermark.read()) for _ in range(3)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    store.answering.set()
    assert await asyncio.gather(*callers) == [2, 2, 2]


async def test_a_caller_that_gives_up_leaves_the_read_to_the_others():
    store = SlowStore()
    watermark = ReasonedWatermark(store)
    first, second = (asyncio.create_task(watermark.read()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    store.answering.set()
    assert await second == 1


async def test_a_failed_read_is_not_kept(monkeypatch):
    monkeypatch.setattr(reasoned_watermark, "FRESH_SECONDS", 0)
    store = SlowStore()
    store.answering.set()
    watermark = ReasonedWatermark(store)
    store.get_reasoned_through, read = _fail, store.get_reasoned_through
    try:
        await watermark.read()
    except OSError:
        failed = True
    assert failed
    store.get_reasoned_through = read
    assert await watermark.read() == 1


async def _fail():
    raise OSError("the store does not answer")
