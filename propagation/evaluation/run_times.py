"""The time that an evaluation took in all its runs, when it was stopped and resumed."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import orjson

from propagation.model import PropagationError
from propagation.ports import BlobStore
from propagation.workflow.concurrency import background_task

PLACE = "evaluation_runs"
WRITE_SECONDS = 2.0


@dataclass
class RunTimes:
    """Times of all runs on one database.

    Args:
        runs: Runs, this one included.
        before: Seconds of the other runs.
    """

    runs: int
    before: float
    _begun: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds of this run so far."""
        return time.monotonic() - self._begun

    @property
    def seconds_in_all(self) -> float:
        """Seconds of every run; a killed run lacks its last WRITE_SECONDS."""
        return self.before + self.seconds


@asynccontextmanager
async def time_run(store: BlobStore) -> AsyncIterator[RunTimes]:
    """Measure one run, and store its time while it runs."""
    runs, before = orjson.loads(await store.get_blob(PLACE) or b"[0, 0.0]")
    times = RunTimes(runs + 1, before)

    async def save() -> None:
        await store.put_blob(PLACE, orjson.dumps([times.runs, times.seconds_in_all]))

    async def save_repeatedly() -> None:
        while True:
            with suppress(PropagationError):  # it is saved again after WRITE_SECONDS
                await save()
            await asyncio.sleep(WRITE_SECONDS)

    try:
        async with background_task(save_repeatedly()):
            yield times
    finally:
        await save()
