"""Lockstep replay of a dataset through the whole loop.

It goes by counts instead of times, so that two runs are bit-equal (docs/design.md, "State").
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice

from propagation.model import ClientChange, NewInteraction, RecordStatus
from propagation.workflow.engine import Engine

STEP = 512


@dataclass
class ReplayReport:
    """The result of a replay.

    Attributes:
        outcomes: How many events ended with each status.
    """

    clients: int = 0
    events: int = 0
    rounds: int = 0
    outcomes: Counter[RecordStatus] = field(default_factory=Counter)


async def replay(
    engine: Engine,
    clients: Iterable[ClientChange],
    events: Iterable[NewInteraction],
    *,
    step: int = STEP,
    progress: Callable[[int], None] = lambda _: None,
) -> ReplayReport:
    """Push clients, then events in their order, through an engine.

    Nothing else uses the engine meanwhile. Every `step` events are recorded, learned and reasoned
    before the next are recorded, and a round runs when `update_size` clients have changed. After a
    failure the recorded events stay, and a second replay goes on from there: repeats are DUPLICATE.

    Args:
        engine: An open engine.
        clients: The clients, first of all.
        events: The events, in their order.
        step: How many events are recorded at a time, at least 1.
        progress: Gets how many events are done, after each step.
    """
    if step < 1:
        raise ValueError(f"step is {step}; a replay records at least one event at a time")
    report = ReplayReport()
    waiting_clients, waiting_events = iter(clients), iter(events)
    engine.reasoning.lockstep = True
    try:
        while batch := list(islice(waiting_clients, 2_000)):
            await engine.upsert_clients(batch)
            report.clients += len(batch)
        report.rounds += await engine.drain()
        while part := list(islice(waiting_events, step)):
            recorded = await engine.record(part)
            report.outcomes.update(outcome.status for outcome in recorded.outcomes)
            report.events += len(part)
            report.rounds += await engine.drain()
            progress(report.events)
    finally:
        engine.reasoning.lockstep = False
    return report
