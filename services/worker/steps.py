"""The worker's short steps, and the loops that repeat steps and jobs.

The steps learn, merge, drop old data, update the index, follow other processes, check the graph's
server and run rounds. Steps run in loops while there is work; jobs run at an interval.
"""

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import structlog

from propagation.model import (
    EndpointUnavailable,
    IndexUnavailable,
    LeaseHeld,
    NotFound,
    Round,
    RoundAbandoned,
    StoreRefused,
    StoreUnreachable,
)
from propagation.workflow.engine import Engine
from services.runtime.measurements import Failures, Timing, Timings
from services.runtime.tasks import Outage, Progress, UninterruptedWork, wait_for_event
from services.worker.call_priority import CallPriority
from services.worker.postponed_retries import PostponedRetries

IDLE_SECONDS = 1.0
FIRST_RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 30.0
LONGEST_RETRY_SECONDS_IF_UNREACHABLE = 2.0
MAX_PENDING_MERGES = 10_000
# While events arrive call after call, learning rests, so that acknowledgements go first.
FLOOD_REST = 3.0
INTERVAL_JOB = "round_interval"
ROUTER = "router "
PREPARE_AGAIN_SECONDS = 30.0
ReachableReport = Callable[[bool], Awaitable[object]]
"""Called again and again, with whether the graph's server answers."""
log = structlog.get_logger()


class StepWaiting(Exception):
    """A step waits for other work of this process.

    This is no failure.
    """


@dataclass(frozen=True)
class WorkerContext:
    """State that the steps of a worker share.

    Attributes:
        outage: Whether the graph's server fails to answer, and why.
        stopping: Set when the worker stops.
        wakes: An event for each step, by its name; set when the step may have work.
        pending_merges: Refs of clients that were read with pending messages, oldest read first.
    """

    engine: Engine
    priority: CallPriority
    progress: Progress = field(default_factory=Progress)
    uninterrupted: UninterruptedWork = field(default_factory=UninterruptedWork)
    outage: Outage = field(default_factory=Outage)
    timings: Timings = field(default_factory=lambda: defaultdict(Timing))
    failures: Failures = field(default_factory=Failures)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    wakes: defaultdict[str, asyncio.Event] = field(
        default_factory=lambda: defaultdict(asyncio.Event)
    )
    pending_merges: OrderedDict[int, None] = field(default_factory=OrderedDict)


async def repeat_step(
    name: str, step: Callable[[WorkerContext], Awaitable[int]], context: WorkerContext
) -> None:
    """Repeat a step until the worker stops.

    The step returns how much it did. After 0 the loop waits to be woken, but no longer than a
    second, as another process may have committed something.

    An error never ends the loop: the step is retried, with a longer pause each time. A server that
    does not answer is tried again within two seconds, as such an attempt costs little. A step that
    raises StepWaiting is shown with what it waits for, and tried again after the usual pause.
    """
    wake, failures = context.wakes[name], context.failures
    pause = FIRST_RETRY_SECONDS
    while not context.stopping.is_set():
        wake.clear()
        start = time.monotonic()
        try:
            done = await step(context)
        except StepWaiting as waiting:
            pause = FIRST_RETRY_SECONDS
            failures.show(name, str(waiting))
            await wait_for_event(wake, IDLE_SECONDS)
        except Exception as error:
            away = isinstance(error, (EndpointUnavailable, StoreUnreachable))
            longest = LONGEST_RETRY_SECONDS_IF_UNREACHABLE if away else LONGEST_RETRY_SECONDS
            pause = min(pause, longest)
            next_time = datetime.now(UTC) + timedelta(seconds=pause)
            failures.record("step", name, error, f"; next try at {next_time:%X} UTC")
            await wait_for_event(context.stopping, pause)
            pause *= 2
        else:
            pause = FIRST_RETRY_SECONDS
            failures.clear(name)
            if done:
                context.timings[name].add(time.monotonic() - start)
            else:
                await wait_for_event(wake, IDLE_SECONDS)


async def repeat_job(
    name: str,
    seconds: float,
    work: Callable[[], Awaitable[object]],
    failures: Failures,
    *,
    at_once: bool = False,
    rests: bool = False,
) -> None:
    """Run a job every `seconds` until cancelled, also after a failed run.

    If a run takes longer, the next one follows at once, or with `rests` after the same time again.

    Args:
        at_once: Whether the first run comes now; else it comes after `seconds`.
        rests: Whether the pause after a run is at least as long as the run was.
    """
    loop = asyncio.get_running_loop()
    due = loop.time() + (0 if at_once else seconds)
    while True:
        await asyncio.sleep(due - loop.time())
        due, began = max(due + seconds, loop.time()), loop.time()
        try:
            await work()
        except Exception as error:
            failures.record("job", name, error)
        else:
            failures.clear(name)
        if rests:
            due = max(due, 2 * loop.time() - began)


async def learn(context: WorkerContext) -> int:
    """Learn a block of recorded log entries.

    Returns:
        How many log entries it covered.
    """
    start = time.monotonic()
    done = await context.engine.learn(wait_for_model=False)
    if done:
        context.progress.advance()
        context.wakes["reason"].set()
    if done and context.priority.has_flood:
        await context.priority.rest(time.monotonic() - start, FLOOD_REST)
    return done


async def retain(context: WorkerContext) -> bool:
    """Drop data that retention no longer keeps, unless other work waits.

    Returns:
        Whether there was anything to do.
    """
    if context.stopping.is_set() or context.uninterrupted.running:
        return False
    start = time.monotonic()
    done = await context.engine.retain()
    await context.priority.rest(time.monotonic() - start)
    return done


async def update_index(context: WorkerContext) -> int:
    """Bring some pending changes to the vector index.

    Returns:
        How many changes were brought.

    Raises:
        StepWaiting: The engine reports a problem of the index, and sees to it after the round that
            is under way.
        IndexUnavailable: The engine reports a problem of the index.
    """
    done = await context.engine.update_index()
    if problem := context.engine.index_problem:
        if context.engine.is_round_under_way:
            raise StepWaiting(f"{problem}; this waits for the end of a round")
        raise IndexUnavailable(problem)
    return done


def queue_merge(context: WorkerContext, ref: int) -> None:
    """Queue a client for `merge`, unless thousands are queued already."""
    if len(context.pending_merges) < MAX_PENDING_MERGES:
        context.pending_merges[ref] = None
    context.wakes["merge"].set()


async def merge(context: WorkerContext) -> int:
    """Merge the messages of the client that was queued first.

    Returns:
        1, or 0 if no client was queued.
    """
    if not context.pending_merges:
        return 0
    ref, _ = context.pending_merges.popitem(last=False)
    await context.priority.yield_to_calls()
    with suppress(NotFound):  # the client may have been forgotten since
        await context.engine.read_profile(ref, merge=True)
    return 1


async def replay(context: WorkerContext) -> int:
    """Try queued dead letters again, unless other work waits.

    Returns:
        How many were tried.
    """
    engine = context.engine
    if context.stopping.is_set() or context.uninterrupted.running:
        return 0
    if not await engine.store.has_queued_dead_letters():
        return 0
    await context.priority.yield_to_calls()
    done = sum(await engine.replay_dead_letters())
    if done:
        context.progress.advance()
        context.wakes["round"].set()
    return done


async def follow(context: WorkerContext) -> int:
    """Apply the commits of other processes.

    Returns:
        0, as once a second is enough.
    """
    await context.engine.follow()
    return 0


async def prepare_withdrawal(context: WorkerContext) -> None:
    """Prepare the first retraction or erasure, at times without calls.

    A server that has just started would take several times as long for it. Nothing depends on this,
    so it is tried again later if the server does not answer.
    """
    while True:
        start = time.monotonic()
        try:
            async for _ in context.engine.prepare_withdrawal():
                worked = time.monotonic() - start
                await asyncio.sleep(worked)  # the server also works for learning and reasoning
                await context.priority.rest(worked)
                start = time.monotonic()
            return
        except (StoreUnreachable, StoreRefused) as error:
            log.info("the first forgetting will take longer", reason=str(error))
            await asyncio.sleep(PREPARE_AGAIN_SECONDS)


async def check_store(report_reachable: ReachableReport, context: WorkerContext) -> int:
    """Report whether the graph's server answers.

    The step does nothing else, so that no slow model delays it.

    Returns:
        0, as once a second is enough.
    """
    try:
        await context.engine.store.get_recorded_through()
    except (StoreUnreachable, StoreRefused) as error:
        context.outage.note(str(error))
        await report_reachable(False)
        raise
    context.outage.note("")
    await report_reachable(True)
    return 0


async def run_round(context: WorkerContext) -> Round | None:
    """Run a round now, whether due or not.

    Routers that the round postponed are shown as failures.

    Returns:
        None if nothing had changed.

    Raises:
        LeaseHeld: Another process runs a round.
        RoundAbandoned: The round gave way.
    """
    start = time.monotonic()
    with note_abandoned_round(context):
        done = await context.engine.run_round()
    context.failures.clear(INTERVAL_JOB)
    if done is not None:
        context.timings["round"].add(time.monotonic() - start)
        _show_postponed(context, done.number)
    context.progress.advance()
    return done


@contextmanager
def note_abandoned_round(context: WorkerContext) -> Iterator[None]:
    """Log and count a round that is abandoned within the block.

    It is timed as a step of its own, which the status shows.
    """
    start = time.monotonic()
    try:
        yield
    except RoundAbandoned as abandoned:
        seconds = time.monotonic() - start
        context.timings["round abandoned"].add(seconds)
        context.failures.counters["rounds_abandoned_total", ""] += 1
        log.warning(
            "a round was abandoned; the next one begins anew",
            reason=str(abandoned),
            after_seconds=round(seconds, 1),
        )
        raise


async def run_due_round(context: WorkerContext) -> int:
    """Run a round if enough clients changed.

    Returns:
        0, as nothing more is due after it.
    """
    if context.engine.propagates and await context.engine.is_round_due():
        start = time.monotonic()
        await run_round_unless_held(context)
        if context.priority.has_flood:
            await context.priority.rest(time.monotonic() - start)
    return 0


async def run_round_unless_held(context: WorkerContext) -> bool:
    """Run a round unless propagation is off or another process runs one.

    Returns:
        Whether this process ran it.
    """
    if context.engine.propagates:
        with suppress(LeaseHeld, RoundAbandoned):
            await run_round(context)
            return True
    return False


async def run_interval_round(context: WorkerContext, retries: PostponedRetries) -> None:
    """Run a round, but retry postponed routers alone ever more rarely."""
    if not context.engine.propagates:
        return
    has_changes = await context.engine.has_changes_for_round()
    if has_changes or retries.are_due():
        has_run = await run_round_unless_held(context)
        postponed = bool(context.engine.postponed_routers)
        if has_run and not (has_changes and postponed):
            retries.note(postponed=postponed)


def _show_postponed(context: WorkerContext, number: int) -> None:
    """Show the routers that this round postponed, in place of earlier ones."""
    for name in [name for name in context.failures.reasons if name.startswith(ROUTER)]:
        context.failures.clear(name)
    for router, reason in context.engine.postponed_routers.items():
        context.failures.show(
            f"{ROUTER}{router}",
            f"left out of round {number}, will be tried again in the next one: {reason}",
        )
        context.failures.counters["round_routers_skipped_total", ""] += 1
