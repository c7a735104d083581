"""The short steps of the worker: learn, merge, retain, update the index, follow other processes."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from propagation.model.errors import IndexUnavailable, NotFound, StoreUnreachable
from propagation.workflow.engine import Engine
from services.runtime.tasks import Progress, UninterruptedWork
from services.worker.call_priority import CallPriority

MAX_PENDING_MERGES = 10_000
# When more log entries than this were learned at once while events arrive one call after another,
# acks go first.
FLOOD, FLOOD_REST = 1_000, 3.0


class HealthReport(Protocol):
    """Where the worker reports whether the graph's server answers."""

    async def report_store(self, reachable: bool) -> None:
        """Take in a change."""


@dataclass
class LearnStep:
    """Learns what was recorded."""

    engine: Engine
    priority: CallPriority
    progress: Progress
    reason_wake: asyncio.Event

    async def run(self) -> int:
        """Learn a block; return how many log entries it covered."""
        start = time.monotonic()
        done = await self.engine.learn()
        if done:
            self.progress.advance()
            self.reason_wake.set()
        if done >= FLOOD and self.priority.flooded:
            await self.priority.rest(time.monotonic() - start, FLOOD_REST)
        return done


@dataclass
class MergeStep:
    """Merges the pending messages of clients that were read, oldest request first."""

    engine: Engine
    priority: CallPriority
    pending: dict[int, None] = field(default_factory=dict)

    def add(self, ref: int) -> None:
        """Queue a client, unless thousands are queued already."""
        if len(self.pending) < MAX_PENDING_MERGES:
            self.pending[ref] = None

    async def run(self) -> int:
        """Merge one client's messages; return 0 if none is pending."""
        if not self.pending:
            return 0
        ref = next(iter(self.pending))
        del self.pending[ref]
        await self.priority.yield_to_calls()
        with suppress(NotFound):  # the client may have been forgotten since
            await self.engine.merged_profile(ref)
        return 1


@dataclass
class RetentionStep:
    """Drops what retention no longer keeps."""

    engine: Engine
    priority: CallPriority
    stopping: asyncio.Event
    uninterrupted: UninterruptedWork

    async def run(self) -> bool:
        """Drop some rows, unless other work waits; return whether any were due."""
        if self.stopping.is_set() or self.uninterrupted.running:
            return False
        start = time.monotonic()
        done = await self.engine.retain()
        await self.priority.rest(time.monotonic() - start)
        return done


@dataclass
class IndexStep:
    """Brings pending changes to the vector index."""

    engine: Engine

    async def run(self) -> int:
        """Apply some changes; return how many. Raises IndexUnavailable."""
        done = await self.engine.update_index()
        if problem := self.engine.index_problem:
            raise IndexUnavailable(problem)
        return done


@dataclass
class FollowStep:
    """Takes in other processes' commits, and reports whether the graph's server answers."""

    engine: Engine
    health: HealthReport | None = None
    reachable: bool = True

    async def run(self) -> int:
        """Take in what was committed; return 0, as once a second is enough."""
        try:
            await self.engine.follow()
        except StoreUnreachable:
            await self._report(False)
            raise
        await self._report(True)
        return 0

    async def _report(self, reachable: bool) -> None:
        if reachable != self.reachable and self.health is not None:
            await self.health.report_store(reachable)
        self.reachable = reachable
