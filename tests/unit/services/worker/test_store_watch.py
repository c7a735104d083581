"""Whether the graph answers is told when it changes, and again after an answer that took long."""

import asyncio

import pytest

from propagation.model.errors import StoreUnreachable
from services.worker import store_probe as store_watch
from services.worker.store_probe import StoreWatch


@pytest.fixture
def told():
    return []


@pytest.fixture
def asking(told):
    answers = []

    async def asks():
        answer = answers.pop(0)
        if answer is None:
            raise StoreUnreachable("away")
        await asyncio.sleep(answer)
        return 3

    async def tell(there):
        told.append(there)

    return StoreWatch(asks, tell), answers


async def test_only_changes_are_told(asking, told):
    watch, answers = asking
    answers.extend([0, 0, None, None, 0, 0])
    for away in (False, False, True, True, False, False):
        if away:
            with pytest.raises(StoreUnreachable):
                await watch.step()
        else:
            assert await watch.step() == 0
    assert told == [False, True]


async def test_an_answer_that_took_long_is_told_again(asking, told, monkeypatch):
    monkeypatch.setattr(store_watch, "LONG_SECONDS", 0.05)
    watch, answers = asking
    answers.extend([0, 0.1, 0])
    for _ in range(3):
        await watch.step()
    assert told == [True]
