"""Lockstep replay: a dataset through the whole loop, at counts instead of times, so that two runs
are bit-equal (DESIGN, State: "Replays use counts and a barrier")."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from propagation.model.clients.client import ClientChange
from propagation.model.interactions.interaction import NewInteraction, RecordStatus
from propagation.workflow.engine import Engine

CLIENTS_A_COMMIT = 2_000
STEP = 512
T = TypeVar("T")


@dataclass(frozen=True)
class ReplayProgress:
    """How far a replay is: clients stored, events pushed so far, rounds published so far."""

    clients: int = 0
    events: int = 0
    rounds: int = 0


@dataclass
class ReplayReport:
    """What a replay did. `outcomes` counts the events by what became of them."""

    clients: int = 0
    events: int = 0
    rounds: int = 0
    outcomes: Counter[RecordStatus] = field(default_factory=Counter)

    @property
    def progress(self) -> ReplayProgress:
        return ReplayProgress(self.clients, self.events, self.rounds)


async def replay(
    engine: Engine,
    clients: Iterable[ClientChange],
    events: Iterable[NewInteraction],
    *,
    step: int = STEP,
    progress: Callable[[ReplayProgress], None] = lambda _: None,
) -> ReplayReport:
    """Push clients, then events in their order: every `step` (>= 1) of them are recorded, learned
    through and reasoned before the next are recorded, and a round runs where `update_size` clients
    changed. Nothing else may use the engine meanwhile. Raises what the engine raises; what was
    recorded stays recorded, and a second replay of the same events goes on from there (repeats are
    DUPLICATE)."""
    if step < 1:
        raise ValueError(f"step is {step}; a replay records at least one event at a time")
    engine.reasoning.lockstep = True
    try:
        return await _replayed(engine, clients, events, step, progress)
    finally:
        engine.reasoning.lockstep = False


async def _replayed(
    engine: Engine,
    clients: Iterable[ClientChange],
    events: Iterable[NewInteraction],
    step: int,
    progress: Callable[[ReplayProgress], None],
) -> ReplayReport:
    report = ReplayReport()
    for some in _parts(clients, CLIENTS_A_COMMIT):
        await engine.upsert_clients(some)
        report.clients += len(some)
        progress(report.progress)
    await _catch_up(engine, report)
    for part in _parts(events, step):
        recorded = await engine.record(part)
        report.outcomes.update(outcome.status for outcome in recorded.outcomes)
        report.events += len(part)
        await _catch_up(engine, report)
        progress(report.progress)
    return report


async def _catch_up(engine: Engine, report: ReplayReport) -> None:
    """Learn through everything recorded, reason it, and run the rounds that are due."""
    while await engine.learn():
        pass
    while await engine.reason():
        if engine.settings.propagate and await engine.round_is_due():
            report.rounds += await engine.run_round() is not None


def _parts(values: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    rest = iter(values)
    while part := list(islice(rest, size)):
        yield part
