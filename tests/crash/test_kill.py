"""Kill -9 of the real service at any moment, under load: every acknowledged event is there once,
pending work resumes, the numbers equal an undisturbed rebuild, the index agrees with the store.

`CRASH_ROUNDS` says how often it is killed (5; the release is judged with 200)."""

import asyncio
import os
import random
import signal

import pytest

from propagation.workflow.learn.rebuild import rebuild_view
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings
from tests.crash.service import Caller, ServiceProcess, drain
from tests.unit.workflow.learn.comparison import find_differing_arrays

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "5"))
DRAIN_SECONDS = 120


async def test_nothing_is_lost_or_doubled(tmp_path):
    database, caller, draw = tmp_path / "graph.db", Caller(), random.Random(11)
    for _ in range(ROUNDS):
        service = ServiceProcess(database)
        load = asyncio.create_task(caller.push(await service.start()))
        await asyncio.sleep(draw.uniform(0.02, 1.5))
        assert await service.end(signal.SIGKILL) == -signal.SIGKILL
        await load
    assert caller.acked
    last = ServiceProcess(database)
    await drain(await last.start(), DRAIN_SECONDS)
    assert await last.end(signal.SIGTERM) == 0
    await _assert_agrees(database, caller)


async def _assert_agrees(database, caller):
    """The database against what its caller was promised, and every derived thing against
    the log."""
    engine = build_engine(
        Settings(
            database=database,
            workflow=WorkflowSettings(
                session=BankSettings(k=4), taste=BankSettings(k=4), table_edges=2
            ),
        )
    )
    await engine.open()
    try:
        store = engine.store
        assert await store.check() == []
        rows = await store.get_interactions(range(1, await store.get_recorded_through() + 1))
        stored = {row.event_id: row.sequence for row in rows}
        assert len(stored) == len(rows)
        assert stored.keys() <= caller.sent.keys()
        assert {id_: stored.get(id_) for id_ in caller.acked} == caller.acked
        assert await store.get_dead_letters(1) == []
        assert await store.get_reasoned_through() >= max(stored.values())
        view = await rebuild_view(store, engine.embedder, engine.data.create_first_view())
        assert find_differing_arrays(view.state, engine.numbers.view.state) == []
        assert await engine.index_maintenance.repair() == 0
    finally:
        await engine.close()
