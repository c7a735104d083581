"""Who is silent is ended once it was so at two looks, a pause apart; whatever is slow or fails,
life is shown on."""

import asyncio
import logging
import time

import pytest

from propagation.model.errors import StoreUnreachable
from propagation.workflow.concurrency import heartbeat as living
from propagation.workflow.concurrency.heartbeat import Life

SECONDS = 0.6
PAUSE = SECONDS * living.LIFE / living.LOOKS_A_LIFE


class Told:
    """A store that answers as the test says; what it was asked, and when."""

    def __init__(self):
        self.silent = frozenset()
        self.shown, self.asked = [], []
        self.failing = self.hanging = False
        self._happened = asyncio.Event()

    async def renew_heartbeat(self, holder, ttl_ms, within):
        self.shown.append((time.monotonic(), ttl_ms))
        self._happened.set()
        if self.failing:
            raise StoreUnreachable("away")
        return self.silent

    async def end_stalled(self, holders, longer_ms, within):
        self.asked.append((time.monotonic(), list(holders), longer_ms))
        self._happened.set()
        if self.hanging:
            await asyncio.sleep(60)
        return len(holders)

    async def looked(self, times=1):
        until = len(self.shown) + times
        while len(self.shown) < until:
            await self._next()

    async def asked_to_end(self):
        while not self.asked:
            await self._next()
        return self.asked[0][0]

    async def _next(self):
        self._happened.clear()
        await self._happened.wait()

    def shows(self, since):
        return [at for at, _ in self.shown if at >= since]


@pytest.fixture
async def told():
    return Told()


@pytest.fixture
async def life(told):
    life = Life(told, "me", SECONDS)
    await life.begin()
    yield life
    await life.end()


async def test_who_is_silent_twice_is_ended_and_then_asked_for_once_in_a_life(told, life):
    begun = time.monotonic()
    told.silent = frozenset({"b", "a"})
    await asyncio.sleep(2.2 * SECONDS)
    assert told.asked[0][0] - begun > PAUSE * 0.9
    assert told.asked[0][1:] == (["a", "b"], int(SECONDS * living.LIFE * 1_000))
    assert 2 <= len(told.asked) <= 4 < len(told.shows(begun))
    assert all(
        later[0] - sooner[0] >= SECONDS * living.LIFE
        for sooner, later in zip(told.asked, told.asked[1:], strict=False)
    )


async def test_who_is_silent_once_is_not_ended(told, life):
    for _ in range(4):
        told.silent = frozenset({"a"})
        await told.looked()
        told.silent = frozenset()
        await told.looked()
    assert told.asked == []


async def test_a_look_that_failed_says_so_once_and_who_is_silent_is_looked_at_twice_again(
    told, life, monkeypatch, caplog
):
    monkeypatch.setattr(living, "AGAIN_SECONDS", PAUSE / 10)
    told.silent = frozenset({"a"})
    await told.looked()
    told.failing = True
    with caplog.at_level(logging.WARNING):
        await asyncio.sleep(3 * PAUSE)
    assert len(caplog.records) == 1
    told.failing = False
    back = time.monotonic()
    assert await told.asked_to_end() - back > PAUSE * 0.8


async def test_life_is_shown_while_what_others_hold_takes_long_to_end(told, life):
    told.silent, told.hanging = frozenset({"a"}), True
    await told.asked_to_end()
    since = time.monotonic()
    await asyncio.sleep(3 * SECONDS)
    assert len(told.asked) == 1
    assert len(told.shows(since)) >= 8


async def test_the_end_is_told_and_nothing_after_it(told):
    life = Life(told, "me", SECONDS)
    await life.end()
    assert told.shown == []
    await life.begin()
    told.silent, told.hanging = frozenset({"a"}), True
    await told.asked_to_end()
    await life.end()
    assert told.shown[-1][1] == 0
    count = len(told.shown)
    await asyncio.sleep(2 * PAUSE)
    assert len(told.shown) == count
