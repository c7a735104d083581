"""What is stored of descriptions names no erased client beside others of its log entry."""

import orjson
import pytest

from propagation.model import ClientChange
from propagation.workflow.concurrency import DESCRIBE_LEASE
from propagation.workflow.reason.description_queue import AHEAD, DescriptionQueue
from tests.unit.workflow.small_database import (
    STORES,
    event,
    item_key,
    make_engine,
    open_engine,
    user_key,
)

LONER, OWN, FIRST = 90, 91, 92


@pytest.mark.parametrize("store", STORES)
async def test_the_marks_of_erased_clients_go_with_the_next_description(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store)) as engine:
        await engine.upsert_clients([ClientChange(key=item_key(FIRST), title="Waits for a model")])
        await engine.record([event(1, LONER, OWN)])
        keys = user_key(LONER), item_key(OWN)
        refs = await engine.store.find_refs(keys)
        queue = DescriptionQueue(engine.store)
        through = await engine.store.get_recorded_through()
        queue.take(await engine.store.read_entries(0, through))
        # A sweep passes over clients without text while an earlier one still waits for its text.
        queue.note_described([(ref, queue.outstanding[ref]) for ref in refs], asked=False)
        lease = await engine.store.acquire_lease(DESCRIBE_LEASE, "test", 60_000)
        await queue.save(lease)
        assert await read_marks(engine) == sorted(refs)
        await engine.drain()
        await engine.forget(keys[0])
        last = await engine.store.get_recorded_through()
        queue.take(await engine.store.read_entries(through, last))
        await queue.save(lease)
        assert await read_marks(engine) == []


async def read_marks(engine):
    """Return the clients that are stored as described ahead of others."""
    stored = orjson.loads(await engine.store.get_blob(AHEAD) or b"{}")
    return sorted(ref for refs in stored.values() for ref in refs)
