"""What first readers would wait for, beside everything else."""

import asyncio

import pytest
from structlog.testing import capture_logs

from propagation.model.errors import StoreUnreachable
from services.worker.query_warm_up import Preparing


class Store:
    """Prepares for as long as a test likes."""

    def __init__(self):
        self.begun, self.ended, self.go_on = 0, 0, asyncio.Event()

    async def prepare(self):
        self.begun += 1
        await self.go_on.wait()
        self.ended += 1


@pytest.fixture
def store():
    return Store()


async def test_nobody_waits_for_it(store):
    preparing = Preparing(store.prepare)
    preparing.begin()
    await asyncio.sleep(0)
    assert (store.begun, store.ended) == (1, 0)
    store.go_on.set()
    await asyncio.sleep(0.01)
    assert store.ended == 1
    await preparing.stop()


async def test_begun_again_it_starts_over(store):
    preparing = Preparing(store.prepare)
    preparing.begin()
    await asyncio.sleep(0)
    preparing.begin()
    await asyncio.sleep(0.01)
    store.go_on.set()
    await asyncio.sleep(0.01)
    assert (store.begun, store.ended) == (2, 1)
    await preparing.stop()


async def test_stopped_it_is_cut_short(store):
    preparing = Preparing(store.prepare)
    preparing.begin()
    await asyncio.sleep(0)
    await preparing.stop()
    preparing.begin()
    store.go_on.set()
    await asyncio.sleep(0.01)
    assert (store.begun, store.ended) == (1, 0), "what went on meanwhile may find the store again"


async def test_a_store_that_is_away_is_logged_and_no_more():
    async def away():
        raise StoreUnreachable("bolt://there does not answer")

    preparing = Preparing(away)
    with capture_logs() as logs:
        preparing.begin()
        await asyncio.sleep(0.01)
        await preparing.stop()
    assert [(line["log_level"], line["reason"]) for line in logs] == [
        ("info", "bolt://there does not answer")
    ]


async def test_a_fault_is_logged_with_where_it_happened():
    async def broken():
        raise KeyError("no such statement")

    preparing = Preparing(broken)
    with capture_logs() as logs:
        preparing.begin()
        await asyncio.sleep(0.01)
        await preparing.stop()
    assert [(line["log_level"], line["exc_info"]) for line in logs] == [("error", True)]
