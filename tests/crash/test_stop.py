"""SIGTERM under load: a graceful stop loses no acknowledged event, and nothing is left to be done twice."""

import asyncio
import signal

import pytest

from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import engine_of
from services.settings import Settings
from tests.crash.service import Caller, ServiceProcess


@pytest.mark.slow
async def test_sigterm_under_load_loses_no_acked_event(tmp_path):
    database, caller = tmp_path / "graph.db", Caller()
    for seconds in (0.3, 1.2):
        service = ServiceProcess(database)
        load = asyncio.create_task(caller.push(await service.start()))
        await asyncio.sleep(seconds)
        assert await service.end(signal.SIGTERM) == 0
        await load
    assert len(caller.acked) > 100
    engine = engine_of(Settings(database=database, workflow=WorkflowSettings(
        session=BankSettings(k=4), taste=BankSettings(k=4), table_edges=2)))
    await engine.open()
    try:
        rows = await engine.store.interactions(range(1, await engine.store.recorded_through() + 1))
        stored = {row.event_id: row.sequence for row in rows}
        assert {id_: stored.get(id_) for id_ in caller.acked} == caller.acked
        assert await engine.store.check() == []
    finally:
        await engine.close()
