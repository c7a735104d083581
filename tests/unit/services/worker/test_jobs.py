"""Periodic jobs, by the clock on the wall."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

from services.runtime.measurements import Counters
from services.worker import periodic_jobs as jobs
from services.worker.periodic_jobs import Job, Jobs

INTERVAL_SECONDS = 0.05
HOUR = 3_600


async def test_a_clock_that_is_set_back_stops_no_job(monkeypatch):
    ran, ahead, wall = asyncio.Event(), 0.0, time.time
    monkeypatch.setattr(jobs, "CLOCK_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(jobs.time, "time", lambda: wall() + ahead)

    async def run():
        ran.set()

    periodic = Jobs([Job("often", INTERVAL_SECONDS, run)], {}, Counters())
    periodic.start()
    try:
        async with asyncio.timeout(10):
            await ran.wait()
            await asyncio.sleep(0.02)  # the watch has looked before
            periodic._scheduler.modify_job(
                "often", next_run_time=datetime.now(UTC) + timedelta(seconds=HOUR)
            )
            ran.clear()
            ahead = -HOUR
            await ran.wait()
    finally:
        await periodic.stop()
