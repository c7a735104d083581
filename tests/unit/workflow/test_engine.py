"""The engine closes all that it opened, and wipes after an erasure."""

import asyncio

import pytest

from propagation.workflow.concurrency import Activity
from services.assembly import build_engine
from services.config.settings import Settings


@pytest.fixture
def settings(tmp_path):
    return Settings(database=tmp_path / "graph.db", reasoning_in="loop")


async def test_a_part_that_cannot_be_closed_keeps_none_of_the_others_open(settings, monkeypatch):
    engine = build_engine(settings)
    await engine.open()

    async def fail():
        raise OSError("the disk is full")

    monkeypatch.setattr(engine.learner, "close", fail)
    with pytest.raises(OSError, match="disk is full"):
        await engine.close()
    again = build_engine(settings)  # it opens only if the first freed the file's lock
    await again.open()
    await again.close()


async def test_a_wiping_waits_for_the_erasure_before_it(settings):
    engine = build_engine(settings)
    await engine.open()
    try:
        async with engine.exclusion.run(Activity.ERASE):
            wiping = asyncio.create_task(engine.wipe_if_due())
            await asyncio.wait([wiping], timeout=0.05)
            assert not wiping.done()
        await wiping
    finally:
        await engine.close()
