"""Passes over schedules: predict and learn event by event.

Passes run in parallel, one on each core: their kernels release the interpreter lock. The result of
a pass depends only on its schedule, its settings and its seed.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from propagation.arrays import F32, F64, I64, U32, Bools
from propagation.evaluation.kernels.arms import (
    ARMS,
    PROBES,
    Arms,
    create_evaluation_combiner,
    log_factorials,
)
from propagation.evaluation.kernels.controls import create_controls
from propagation.evaluation.kernels.prequential import evaluate_block
from propagation.evaluation.stream import LEAST_ITEMS, EvaluationSettings, Stream
from propagation.numbers import State, with_room
from propagation.ports import FittableEmbedder
from propagation.routing import draw_random_directions, run_spherical_kmeans
from propagation.usable_cores import count_usable_cores
from propagation.workflow.views import NumbersView


@dataclass(frozen=True)
class Schedule:
    """The order of events, and which are ranked and learned.

    An event that is both ranked and learned is ranked first.

    Args:
        user: [B] row of each event's user; likewise item.
        time: [B] seconds since 1970.
        ranked: [B] whether the event is ranked; likewise learned.
        event: [B] places in the dataset's order of time.
    """

    user: I64
    item: I64
    time: U32
    ranked: Bools
    learned: Bools
    event: I64

    def group_items_by_user(self, users: int) -> tuple[I64, I64]:
        """Return each user's distinct items.

        Returns:
            [U+1] the place of each user's first item, and the items of all users, one user after
            another.
        """
        user, item = np.unique(np.stack([self.user, self.item]), axis=1)
        # Contiguous, as an empty array is anyway: kernels are compiled once for each layout.
        return np.searchsorted(user, np.arange(users + 1)), np.ascontiguousarray(item)

    def count_known(self) -> tuple[I64, I64, I64]:
        """Count the learned events before each event, by user and item.

        Returns:
            [B] interactions of the event's user, [B] distinct items of these, and [B] adopters of
            the event's item.
        """
        first = np.zeros(len(self.user), np.bool_)
        rows = np.flatnonzero(self.learned)
        first[
            rows[
                np.unique(np.stack([self.user[rows], self.item[rows]]), axis=1, return_index=True)[
                    1
                ]
            ]
        ] = True
        return (
            _count_before(self.user, self.learned),
            _count_before(self.user, first),
            _count_before(self.item, first),
        )


def _count_before(key: I64, counted: Bools) -> I64:
    """Return [B] how many counted events before each event share its key."""
    order = np.argsort(key, kind="stable")
    running: I64 = np.cumsum(counted[order]) - counted[order]
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    out = np.empty(len(key), np.int64)
    out[order] = running - np.repeat(running[starts], np.diff(np.append(starts, len(key))))
    return out


def schedule_prequential(stream: Stream, every: int) -> Schedule:
    """Schedule each event to be tested, then learned.

    One event in `every` is ranked.
    """
    events = len(stream.user)
    return Schedule(
        stream.user,
        stream.item,
        stream.seconds,
        np.arange(events) % every == 0,
        np.ones(events, np.bool_),
        stream.event,
    )


def find_last_of_each_user(stream: Stream) -> Bools:
    """Return the leave-last-one-out targets.

    A target is the last event of a user with at least two.

    Returns:
        Bools [E].
    """
    return find_last(stream.user, stream.users)


def find_last(user: I64, users: int) -> Bools:
    """Find the last event of each user with at least two.

    Args:
        user: [E] row of each event's user, in the order of time.

    Returns:
        Bools [E].
    """
    last = np.full(users, -1)
    last[user] = np.arange(len(user))
    found = np.zeros(len(user), np.bool_)
    found[last[np.bincount(user, minlength=users) > 1]] = True
    return found


def leave_one_out(stream: Stream, targets: Bools) -> Schedule:
    """Schedule leave-last-one-out.

    All events but the targets are learned, in the order of time. A target is ranked twice: at its
    own moment, and again behind all E events of the stream, at the end of the schedule.
    """
    rows = np.concatenate([np.arange(len(targets)), np.flatnonzero(targets)])
    ranked = targets[rows]
    return Schedule(
        stream.user[rows],
        stream.item[rows],
        stream.seconds[rows],
        ranked,
        ~ranked,
        stream.event[rows],
    )


def shuffle_histories(stream: Stream, targets: Bools, seed: int) -> Stream:
    """Return the stream with each user's items in random order; targets stay."""
    rng = np.random.default_rng(seed)
    rest = np.flatnonzero(~targets)
    own = rest[np.argsort(stream.user[rest], kind="stable")]
    mixed = rest[np.lexsort((rng.random(len(rest)), stream.user[rest]))]
    item = stream.item.copy()
    item[own] = stream.item[mixed]
    return replace(stream, item=item)


BLOCK = 500
N10, HR1, MATCHED_N10, RANK, N10_OF_100, FIXED_N10, ALL_FIXED_N10 = MEASURES = range(7)


@dataclass(frozen=True)
class PassResult:
    """The result of one pass.

    Args:
        user: [B] rows.
        event: [B] places in the dataset's order of time.
        values: [B,R,7] by MEASURES, without fixed candidates [B,R,5]: N@10 and HR@1 against any 9,
            N@10 against 9 of the target's kind (adopted before, or not), the rank among all (the
            mean over ties), N@10 against any 99, against the first 9 of the user's fixed
            candidates, and against all of these; NaN if not ranked.
        past: [B] known interactions of the user; likewise adopters of the item.
        negatives: [B] how many items the target is ranked against.
        future: [B] how many of these items the user takes later.
    """

    user: I64
    event: I64
    values: F64
    past: I64
    adopters: I64
    negatives: I64
    future: I64

    def select(self, rows: slice | Bools) -> "PassResult":
        """Return these events only."""
        return PassResult(*(getattr(self, column.name)[rows] for column in fields(self)))

    def select_ranked(self) -> "PassResult":
        """Return the events that were ranked."""
        return self.select(~np.isnan(self.values[:, 0, N10]))

    def select_with_past(self) -> "PassResult":
        """Return all but the first events of users."""
        return self.select(self.past > 0)


def run_pass(
    stream: Stream,
    schedule: Schedule,
    content: F32,
    attributes: F32,
    settings: EvaluationSettings,
    seed: int,
    progress: Callable[[int], None],
    arms: Arms = ARMS,
) -> PassResult:
    """Run one pass over a shuffled stream's schedule.

    Args:
        content: [I,D] unit vectors of the items' texts; likewise attributes.
        progress: Called with the number of events done in this pass.
        arms: What is ranked and learned side by side.
    """
    state = start_state(stream, content, attributes, settings, seed)
    combiner = create_evaluation_combiner(arms)
    controls = create_controls(state, stream.users, stream.items, seed, settings.tau)
    events = len(schedule.user)
    seeds = np.random.default_rng(seed).integers(0, 2**63, events).astype(np.uint64)
    logs = log_factorials(stream.items)
    own = schedule.group_items_by_user(stream.users)
    takes = own if settings.exclude_future else (np.zeros_like(own[0]), own[1][:0])
    fixed = np.empty((stream.users, 0), np.int64) if stream.fixed is None else stream.fixed
    measures = len(MEASURES) if fixed.shape[1] else FIXED_N10
    out = np.full((events, len(arms) + len(PROBES), measures), np.nan)
    for start in range(0, events, BLOCK):
        part = slice(start, start + BLOCK)
        evaluate_block(
            state,
            combiner,
            controls,
            schedule.user[part],
            schedule.item[part],
            schedule.time[part],
            seeds[part],
            schedule.ranked[part],
            schedule.learned[part],
            takes,
            fixed,
            logs,
            out[part],
        )
        progress(min(start + BLOCK, events))
    past, had, adopters = schedule.count_known()
    later = np.diff(own[0])[schedule.user] - had - 1
    excluded = later if settings.exclude_future else 0
    return PassResult(
        schedule.user,
        schedule.event,
        out,
        past,
        adopters,
        stream.items - 1 - had - excluded,
        later - excluded,
    )


def start_state(
    stream: Stream, content: F32, attributes: F32, settings: EvaluationSettings, seed: int
) -> State:
    """Return the state before the first event.

    The routers are found by k-means of the content. An item without text gets a random vector.
    """
    content = content.copy()
    textless = ~content.any(axis=1)
    content[textless] = draw_random_directions(
        np.random.default_rng(seed), int(textless.sum()), content.shape[1]
    )
    session = run_spherical_kmeans(content, settings.session_k, seed)
    taste = run_spherical_kmeans(content, settings.taste_k, seed + 1)
    view = NumbersView(session, taste, seed, epoch=0, factors=settings.ranker.factors)
    # Room for all rows now, since a pass cannot grow the arrays.
    view.state = with_room(view.state, stream.users, stream.items, len(stream.user))
    view.add_users(stream.users)
    for item in range(stream.items):
        view.set_item(item, content[item], attributes[item], visible=True)
    return view.state


class _PassCancelled(Exception):
    """The evaluation was cancelled."""


async def run_passes(
    stream: Stream,
    embedder: FittableEmbedder,
    settings: EvaluationSettings,
    plan: Callable[[Stream, int], Sequence[Schedule]],
    progress: Callable[[int, int], None],
) -> tuple[list[PassResult], list[str]]:
    """Run the passes of every seed.

    The embedder is fitted anew for each seed. If this call is cancelled, the passes are, too.

    Args:
        plan: Returns the schedules of a shuffled stream and its seed; each gets a pass.
        progress: Called with (events done, events in all), from other threads.

    Returns:
        The passes in the order of seeds and schedules, and the names of the fitted embedders in the
        order of seeds.

    Raises:
        InvalidInput: There is nothing to rank.
    """
    stream.check()
    sizes = [len(schedule.user) for schedule in plan(stream, settings.seeds[0])]
    total = sum(sizes) * len(settings.seeds)
    done = [0] * (len(sizes) * len(settings.seeds))
    room = asyncio.Semaphore(count_usable_cores())
    stopping = threading.Event()
    running: list[asyncio.Task[PassResult]] = []
    embedders: list[str] = []

    def report(number: int, passed: int) -> None:
        if stopping.is_set():
            raise _PassCancelled
        done[number] = passed
        progress(sum(done), total)

    async def run(work: Callable[[], PassResult]) -> PassResult:
        try:
            return await asyncio.to_thread(work)
        finally:
            room.release()

    try:
        for seed in settings.seeds:
            shuffled = stream.shuffle(seed)
            embedder.restore(embedder.fit(shuffled.item_texts, seed))
            content = await embedder.embed(shuffled.item_texts)
            attributes = await embedder.embed(shuffled.attribute_texts)
            embedders.append(embedder.name)
            for schedule in plan(shuffled, seed):
                await room.acquire()
                _raise_failure(running)
                work = partial(
                    run_pass,
                    shuffled,
                    schedule,
                    content,
                    attributes,
                    settings,
                    seed,
                    partial(report, len(running)),
                )
                running.append(asyncio.create_task(run(work)))
        # Unlike gather, wait cancels no task: the thread of its pass would run on.
        await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
        _raise_failure(running)
        return [task.result() for task in running], embedders
    finally:
        stopping.set()
        await asyncio.gather(*running, return_exceptions=True)


def _raise_failure(tasks: Sequence[asyncio.Task[PassResult]]) -> None:
    for task in tasks:
        if task.done():
            task.result()


def compile_pass() -> None:
    """Compile the kernels of a pass, or load them from the cache."""
    rows = np.arange(LEAST_ITEMS)
    texts = [str(row) for row in rows]
    stream = Stream("", texts, texts, rows, rows, rows, rows)
    vectors = np.eye(LEAST_ITEMS, dtype=np.float32)
    settings = EvaluationSettings(session_k=2, taste_k=2)
    run_pass(
        stream, schedule_prequential(stream, 1), vectors, vectors, settings, 0, lambda done: None
    )
