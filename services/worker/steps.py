"""The short steps of the worker: learn, merge, retain, update the index, follow, run rounds."""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from propagation.model import IndexUnavailable, LeaseHeld, NotFound, Round, StoreUnreachable
from services.worker.loops import WorkerContext

MAX_PENDING_MERGES = 10_000
# When more log entries than this were learned at once while events arrive one call after another,
# acks go first.
FLOOD, FLOOD_REST = 1_000, 3.0
INTERVAL_JOB = "round_interval"
ROUTER = "router "


ReachableReport = Callable[[bool], Awaitable[object]]
"""Takes whether the graph's server answers, each time that this changes."""


async def learn(context: WorkerContext) -> int:
    """Learn a block of what was recorded; return how many log entries it covered."""
    start = time.monotonic()
    done = await context.engine.learn()
    if done:
        context.progress.advance()
        context.wakes["reason"].set()
    if done >= FLOOD and context.priority.flooded:
        await context.priority.rest(time.monotonic() - start, FLOOD_REST)
    return done


async def retain(context: WorkerContext) -> bool:
    """Drop what retention no longer keeps, unless other work waits; return whether any was due."""
    if context.stopping.is_set() or context.uninterrupted.running:
        return False
    start = time.monotonic()
    done = await context.engine.retain()
    await context.priority.rest(time.monotonic() - start)
    return done


async def update_index(context: WorkerContext) -> int:
    """Bring some pending changes to the vector index; return how many. Raises IndexUnavailable."""
    done = await context.engine.update_index()
    if problem := context.engine.upkeep.problem:
        raise IndexUnavailable(problem)
    return done


class MergeStep:
    """Merges the pending messages of clients that were read, oldest request first."""

    def __init__(self) -> None:
        self.pending: dict[int, None] = {}

    def add(self, ref: int) -> None:
        """Queue a client, unless thousands are queued already."""
        if len(self.pending) < MAX_PENDING_MERGES:
            self.pending[ref] = None

    async def run(self, context: WorkerContext) -> int:
        """Merge one client's messages; return 0 if none is pending."""
        if not self.pending:
            return 0
        ref = next(iter(self.pending))
        del self.pending[ref]
        await context.priority.yield_to_calls()
        with suppress(NotFound):  # the client may have been forgotten since
            await context.engine.profiles.read_merged(ref)
        return 1


class FollowStep:
    """Takes in other processes' commits, and reports whether the graph's server answers."""

    def __init__(self) -> None:
        self.report_reachable: ReachableReport | None = None
        self._reachable = True

    async def run(self, context: WorkerContext) -> int:
        """Take in what was committed; return 0, as once a second is enough."""
        try:
            await context.engine.follow()
        except StoreUnreachable:
            await self._report(False)
            raise
        await self._report(True)
        return 0

    async def _report(self, reachable: bool) -> None:
        if reachable != self._reachable and self.report_reachable is not None:
            await self.report_reachable(reachable)
        self._reachable = reachable


async def run_round(context: WorkerContext) -> Round | None:
    """Run a round now, whether due or not; show the routers that it postponed as failures."""
    start = time.monotonic()
    done = await context.engine.run_round()
    context.failures.clear(INTERVAL_JOB)
    if done is not None:
        context.timings.add("round", time.monotonic() - start)
        _show_postponed(context, done.number)
    context.progress.advance()
    return done


async def run_due_round(context: WorkerContext) -> int:
    """Run a round if enough clients changed; return 0, as nothing more is due after it."""
    if context.engine.settings.propagate and await context.engine.round_is_due():
        start = time.monotonic()
        await run_round_unless_held(context)
        if context.priority.flooded:
            await context.priority.rest(time.monotonic() - start)
    return 0


async def run_round_unless_held(context: WorkerContext) -> None:
    """Run a round unless propagation is off or another process runs one."""
    if context.engine.settings.propagate:
        with suppress(LeaseHeld):
            await run_round(context)


def _show_postponed(context: WorkerContext, number: int) -> None:
    """Show the routers that this round left out; those of earlier rounds are done."""
    failures = context.failures
    for name in [name for name in failures.reasons if name.startswith(ROUTER)]:
        failures.clear(name)
    for router, reason in context.engine.rounds.postponed.items():
        failures.show(f"{ROUTER}{router}", f"left out of round {number}, due in the next: {reason}")
        failures.counters["round_routers_skipped_total", ""] += 1
