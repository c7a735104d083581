"""How long an evaluation took that was stopped and went on: summed over its runs, written down
while they run."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import orjson

from propagation.model.errors import PropagationError
from propagation.ports.graph.leases import BlobStore

PLACE = "evaluation_runs"
WRITE_SECONDS = 2.0


@dataclass
class Legs:
    """`runs` on this database, this one included; `before`: seconds of the others."""

    runs: int
    before: float
    _begun: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Of this run so far."""
        return time.monotonic() - self._begun

    @property
    def seconds_in_all(self) -> float:
        """Of every run; of one that was killed all but its last WRITE_SECONDS."""
        return self.before + self.seconds


@asynccontextmanager
async def leg(store: BlobStore) -> AsyncIterator[Legs]:
    """One run, counted from its beginning."""
    runs, before = orjson.loads(await store.get_blob(PLACE) or b"[0, 0.0]")
    legs = Legs(runs + 1, before)

    async def written() -> None:
        await store.put_blob(PLACE, orjson.dumps([legs.runs, legs.seconds_in_all]))

    async def writing() -> None:
        while True:
            with suppress(PropagationError):  # written again soon
                await written()
            await asyncio.sleep(WRITE_SECONDS)

    task = asyncio.ensure_future(writing())
    try:
        yield legs
    finally:
        task.cancel()
        await asyncio.wait([task])
        await written()
