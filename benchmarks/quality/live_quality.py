"""The effect of texts and filter rules on ranking.

The whole loop runs in lockstep: 16 events are ranked, then learned and reasoned, and so on.

Source: propagation/evaluation/protocols/whole_loop.py.
"""

import asyncio

from benchmarks.run import Figures, Run
from propagation.datasets.dataset import Dataset
from propagation.evaluation.protocols.metrics import compute_mean, pair_up
from propagation.evaluation.protocols.whole_loop import (
    PLAIN,
    RULES,
    TEXT,
    LoopRanking,
    rank_in_loop,
)
from services.assembly import build_engine
from services.cli.research.datasets import check_events
from services.config.settings import Settings

EVENTS, SHORT_EVENTS = 10_000, 800


def measure_live(run: Run, dataset: Dataset) -> Figures:
    """Measure on the last three fifths of the earliest 10,000 events."""
    looped = asyncio.run(_looped(run, dataset.first(SHORT_EVENTS if run.short else EVENTS)))
    plain = looped.values[:, PLAIN]
    for place, name in ((TEXT, "text"), (RULES, "rules")):
        difference = pair_up(looped.values[:, place], plain, looped.user)
        if difference is not None and difference.t is not None:
            run.note(
                f"with {name}: {difference.mean:+.4f} by user (t = {difference.t:.1f}) against"
                f" the numbers alone ({compute_mean(plain):.4f}), {len(plain):,} events ranked,"
                f" {looped.ruled:.0%} of them under a rule"
            )
    yield "n10_rules", float(looped.values[:, RULES].mean())
    yield "n10_text", float(looped.values[:, TEXT].mean())


async def _looped(run: Run, dataset: Dataset) -> LoopRanking:
    engine = build_engine(Settings(database=run.scratch / "loop.db"))
    await engine.open()
    try:
        return await rank_in_loop(engine, dataset.clients, list(check_events(dataset.events)))
    finally:
        await engine.close()
