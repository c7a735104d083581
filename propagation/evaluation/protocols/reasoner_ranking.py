"""Leave-last-one-out with the reasoner as the ranker (RecNet 3.1.3).

All events but each user's last go through the engine in lockstep (workflow/replay.py). Work that
the database holds already is not repeated, and answers to equal questions come from its cache. So a
run that was stopped goes on where it was.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from math import log2
from random import Random
from typing import TypeVar

import orjson

from propagation.datasets.dataset import Dataset
from propagation.model import (
    ClientChange,
    NewInteraction,
    PromptCost,
    PropagationError,
    ReasonerUnavailable,
    Term,
    Usage,
    group_pairs,
)
from propagation.ports import BlobStore
from propagation.workflow.concurrency import run_in_background
from propagation.workflow.engine import Engine
from propagation.workflow.read.recommend import RecommendRequest

PLACE = "evaluation_runs"
WRITE_SECONDS = 2.0


@dataclass
class RunTimes:
    """Times of all runs on one database.

    Args:
        runs: How many runs there were, this one included.
        before: Seconds of all earlier runs.
    """

    runs: int
    before: float
    _started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds of this run so far."""
        return time.monotonic() - self._started

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
        async with run_in_background(save_repeatedly()):
            yield times
    finally:
        await save()


NINE = 9
PATIENCE = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
T = TypeVar("T")
log = logging.getLogger(__name__)


class DrawReport(Term):
    """Means over users for one draw of candidates.

    Args:
        targets: How many targets were ranked.
        n1: Mean N@1; likewise n5 and n10.
        by_numbers: How many targets the numbers ranked, since the reasoner failed.
    """

    name: str
    targets: int
    n1: float
    n5: float
    n10: float
    by_numbers: int


@dataclass(frozen=True)
class NamedPromptCost(PromptCost):
    """The cost of one prompt, with its name."""

    prompt: str = ""


class ByReasonerReport(Term):
    """The result of the reasoner as a ranker, with its cost.

    Args:
        learned: How many events went through the engine.
        cost: The cost of this run by prompt; likewise seconds.
        cost_in_all: The cost of all `runs` on this database; likewise seconds_in_all.
    """

    dataset: str
    notes: Sequence[str] = ()
    reasoner: str
    users: int
    learned: int
    dead_letters: int
    draws: Sequence[DrawReport]
    cost: Sequence[NamedPromptCost]
    cost_in_all: Sequence[NamedPromptCost]
    seconds: float
    seconds_in_all: float
    runs: int
    commit: str


@dataclass(frozen=True)
class Target:
    """A user's last item, and the items that it is ranked against.

    Attributes:
        time: Seconds since 1970 of the user's last event.
    """

    user: str
    item: str
    others: Sequence[str]
    time: float


@dataclass(frozen=True)
class RankedTarget:
    """A target's rank, from 1 on, and whether the numbers ranked it.

    The numbers rank a target if the reasoner failed.
    """

    target: Target
    rank: int
    by_numbers: bool


def compute_gain_at(rank: int, cut: int) -> float:
    """Return N@cut of one target at a rank from 1 on."""
    return 1 / log2(rank + 1) if rank <= cut else 0.0


# Takes the name of a draw and its targets.
KeepTargets = Callable[[str, Sequence[RankedTarget]], None]


async def evaluate_by_reasoner(
    engine: Engine,
    dataset: Dataset,
    clients: Iterable[ClientChange],
    events: Iterable[NewInteraction],
    fixed: Mapping[str, Sequence[str]] | None,
    *,
    seeds: Sequence[int],
    commit: str,
    progress: Callable[[int, int], None],
    keep: KeepTargets = lambda name, ranked: None,
) -> ByReasonerReport:
    """Evaluate the engine's reasoner as a ranker.

    Args:
        events: All events of the dataset, in the order of time.
        fixed: Candidates by user, of which the first nine that are not the target are used; None:
            there are none.
        seeds: One draw of candidates for each seed.
        progress: Called with (interactions and rankings done, all of them).
        keep: Called with the targets of each draw.
    """
    async with time_run(engine.store) as times:
        everything = list(events)
        last = {event.user_id: place for place, event in enumerate(everything)}
        known = [event for place, event in enumerate(everything) if place != last[event.user_id]]
        draws = _draw_targets(dataset, everything, last, fixed, seeds)
        of_all = len(known) + sum(len(targets) for targets in draws.values())
        await _replay_in_parts(engine, clients, known, lambda done: progress(done, of_all))
        slots = asyncio.Semaphore(engine.reasoner.concurrency)
        reports = []
        done = len(known)
        for name, targets in draws.items():
            ranked = await asyncio.gather(*(_rank(engine, target, slots) for target in targets))
            keep(name, ranked)
            reports.append(_draw_report(name, ranked))
            progress(done := done + len(targets), of_all)
        expenses = engine.reasoner.expenses
        return ByReasonerReport(
            dataset=dataset.name,
            notes=dataset.notes,
            reasoner=engine.reasoner.name,
            users=len(last),
            learned=len(known),
            dead_letters=len(await engine.store.get_dead_letters(1_000_000)),
            draws=reports,
            cost=_list_costs(expenses.this_run),
            cost_in_all=_list_costs(expenses.all_runs),
            seconds=times.seconds,
            seconds_in_all=times.seconds_in_all,
            runs=times.runs,
            commit=commit,
        )


async def _replay_in_parts(
    engine: Engine,
    clients: Iterable[ClientChange],
    events: Sequence[NewInteraction],
    progress: Callable[[int], None],
) -> None:
    """Record and reason events part by part, with rounds between.

    Before the next part begins, a part is fully reasoned, and a round runs if one is due. A part
    that an earlier run left unfinished is finished first, and no round begins before that. So the
    result does not depend on where a run was stopped.
    """
    engine.reasoning.lockstep = True
    try:
        await engine.upsert_clients(list(clients))
        await _catch_up(engine)
        size = engine.settings.update_size_for(
            engine.numbers.view.users + engine.numbers.view.items
        )
        for start in range(0, len(events), size):
            recorded = await engine.record(events[start : start + size])
            await _catch_up(engine)
            newest = max(outcome.sequence for outcome in recorded.outcomes)
            if newest == await engine.store.get_recorded_through() and await engine.is_round_due():
                await _retry_until_done(engine, engine.run_round)
            progress(min(start + size, len(events)))
    finally:
        engine.reasoning.lockstep = False


async def _catch_up(engine: Engine) -> None:
    while await _retry_until_done(engine, engine.learn):
        pass
    while await _retry_until_done(engine, engine.reason):
        pass


async def _retry_until_done(engine: Engine, step: Callable[[], Awaitable[T]]) -> T:
    """Run a step, and retry it while the reasoner does not answer.

    The reasoner's server may be restarting.

    Raises:
        ReasonerUnavailable: The reasoner did not answer after all retries. If this run had no
            answer yet, the step is not retried: the settings are probably wrong.
    """
    for seconds in PATIENCE:
        try:
            return await step()
        except ReasonerUnavailable as error:
            if not engine.reasoner.expenses.this_run.total.completion_tokens:
                raise
            log.warning("the reasoner does not answer, trying again in %g s: %s", seconds, error)
            await asyncio.sleep(seconds)
    return await step()


def _draw_targets(
    dataset: Dataset,
    events: Sequence[NewInteraction],
    last: Mapping[str, int],
    fixed: Mapping[str, Sequence[str]] | None,
    seeds: Sequence[int],
) -> dict[str, list[Target]]:
    """Return the targets of each draw, by its name.

    Drawn candidates are items that the user never had.

    Args:
        last: By user, the place of the last event in `events`.
    """
    catalogue = sorted(item.key.id for item in dataset.items)
    by_user = group_pairs((event.user_id, event.item_id) for event in events)
    had = {user: set(taken) for user, taken in by_user.items()}
    items = {user: events[place].item_id for user, place in sorted(last.items())}
    times = {user: events[place].time / 1_000 for user, place in last.items()}
    draws: dict[str, list[Target]] = {}
    if fixed is not None:
        draws["fixed"] = [
            Target(
                user, item, [other for other in fixed[user] if other != item][:NINE], times[user]
            )
            for user, item in items.items()
            if user in fixed
        ]
    for seed in seeds:
        draws[f"seed {seed}"] = [
            Target(user, item, _draw(f"{seed} {user}", catalogue, had[user]), times[user])
            for user, item in items.items()
        ]
    return draws


def _draw(seed: str, catalogue: Sequence[str], had: set[str]) -> list[str]:
    unseen = [item for item in catalogue if item not in had]
    return Random(seed).sample(unseen, min(NINE, len(unseen)))


def _draw_report(name: str, ranked: Sequence[RankedTarget]) -> DrawReport:
    n1, n5, n10 = (
        sum(compute_gain_at(one.rank, cut) for one in ranked) / max(len(ranked), 1)
        for cut in (1, 5, 10)
    )
    return DrawReport(
        name=name,
        targets=len(ranked),
        n1=n1,
        n5=n5,
        n10=n10,
        by_numbers=sum(one.by_numbers for one in ranked),
    )


async def _rank(engine: Engine, target: Target, slots: asyncio.Semaphore) -> RankedTarget:
    candidates = sorted([target.item, *target.others])
    request = RecommendRequest(
        user_id=target.user,
        limit=len(candidates),
        candidates=candidates,
        exclude_seen=False,
        now=target.time,
    )
    async with slots:
        by_numbers = await engine.recommend(request)
        ranking = await _retry_until_done(
            engine,
            lambda: engine.rerank(target.user, by_numbers, None, raise_unavailable=True),
        )
    rank = 1 + [item.item_id for item in ranking.items].index(target.item)
    return RankedTarget(target, rank, by_numbers=not ranking.by_reasoner)


def _list_costs(usage: Usage) -> list[NamedPromptCost]:
    return [
        NamedPromptCost(
            prompt=prompt,
            calls=spent.calls,
            cached=spent.cached,
            lost=spent.lost,
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            seconds=round(spent.seconds, 3),
            money=round(spent.money, 6),
            losses=spent.losses,
            parts=spent.parts,
            refused=spent.refused,
        )
        for prompt, spent in usage.by_prompt
    ]
