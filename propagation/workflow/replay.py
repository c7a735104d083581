"""Lockstep replay of a dataset through the whole loop.

Counts, not times, decide when a step or a round begins, so that two runs are bit-equal
(docs/design.md, "State").
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

    Nothing else may use the engine meanwhile. `step` events are recorded, learned and reasoned
    before the next ones are recorded. A round runs when `update_size` clients have changed. After
    a failure the recorded events stay: a second replay finds them DUPLICATE and goes on behind
    them.

    Args:
        engine: An open engine.
        clients: The clients; all are stored before the first event.
        events: The events, in their order.
        step: How many events are recorded at a time, at least 1.
        progress: Called after each step with the number of events done so far.

    Raises:
        ValueError: `step` is less than 1.
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
