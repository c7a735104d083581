"""What texts and filter rules do to ranking: the whole loop in lockstep (workflow/replay.py), read as Recommend reads.

Texts reach the ranking through the profile feature, rules through the factors on the taste routers; both change through
reasoning and rounds only, so the numbers' own protocol can't measure them. Beside the live arm the combiner learns one
without the profile feature, on the same events."""

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.run import Figures, Run
from propagation.datasets.form import Dataset
from propagation.evaluation.kernels.expectation import DRAWN, expected, log_factorials
from propagation.evaluation.metrics import level, paired
from propagation.model.client import ClientKey, ClientKind, index_of
from propagation.model.interaction import NewInteraction
from propagation.numbers.combiner import START_WEIGHT, Combiner, new_combiner
from propagation.numbers.features import FEATURES, PROPAGATED, Feature
from propagation.numbers.seen import has_seen
from propagation.workflow.engine import Engine
from propagation.workflow.reading import Ask
from propagation.workflow.replay import replay
from propagation.workflow.view import OFF, ON
from services.assembly import laptop_engine
from services.cli.replay import checked
from services.settings import Settings

WITHOUT_TEXT = 2
EVENTS, SHORT_EVENTS = 10_000, 800
STEP = 16
PLAIN, TEXT, RULES = range(3)


def measure_live(run: Run, dataset: Dataset) -> Figures:
    """Reported on the last three fifths of the earliest 10,000 events. Only a user's first event of each step of 16 is
    ranked, against all unseen items (expectation over 9 drawn): all that the user did before it is learned by then."""
    users, values, ruled = asyncio.run(_replayed(run, dataset.first(SHORT_EVENTS if run.short else EVENTS)))
    for place, name in ((TEXT, "text"), (RULES, "rules")):
        difference = paired(values[:, place], values[:, PLAIN], users)
        if difference is not None and difference.t is not None:
            run.note(f"with {name}: {difference.mean:+.4f} by user (t = {difference.t:.1f}) against neither "
                     f"({level(values[:, PLAIN]):.4f}), {len(values):,} events ranked, {ruled:.0%} of them under a rule")
    yield "n10_rules", float(values[:, RULES].mean())
    yield "n10_text", float(values[:, TEXT].mean())


async def _replayed(run: Run, dataset: Dataset) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """(user [R], N@10 [R,3], share of reads under a rule)."""
    engine = laptop_engine(Settings(database=run.scratch / "loop.db"))
    await engine.open()
    try:
        await replay(engine, dataset.clients, ())
        engine.numbers.view.combiner = _combiner()
        found: list[tuple[int, tuple[float, ...], bool]] = []
        events = list(checked(dataset.events))
        for start in range(0, len(events), STEP):
            part = events[start : start + STEP]
            if start >= 2 * len(events) // 5:
                found += [one for event in _first_of_each_user(part) if (one := await _ranked(engine, event))]
            await replay(engine, (), part, step=STEP)
        return (np.array([user for user, _, _ in found]), np.array([gains for _, gains, _ in found]),
                float(np.mean([ruled for _, _, ruled in found])))
    finally:
        await engine.close()


def _combiner() -> Combiner:
    """The live arms, and the live one without the profile feature."""
    mask = np.ones((3, FEATURES))
    mask[OFF, list(PROPAGATED)] = 0
    mask[WITHOUT_TEXT, Feature.PROFILE] = 0
    start = np.full(FEATURES, START_WEIGHT)
    start[Feature.PROFILE] = 0
    return new_combiner(mask, start)


def _first_of_each_user(part: Sequence[NewInteraction]) -> Iterator[NewInteraction]:
    return iter({event.user_id: event for event in reversed(part)}.values())


async def _ranked(engine: Engine, event: NewInteraction) -> tuple[int, tuple[float, ...], bool] | None:
    """(user row, N@10 plain, with text, with text and rules; whether a rule held); None for what the protocol leaves out."""
    view = engine.numbers.view
    refs = await engine.store.find_refs([ClientKey(kind=ClientKind.USER, id=event.user_id),
                                         ClientKey(kind=ClientKind.ITEM, id=event.item_id)])
    user, item = (-1 if ref is None else index_of(ref) for ref in refs)
    if refs[0] is None or not view.state.history_length[user] or has_seen(view.state, user, item):
        return None
    texts = await engine.store.load_texts([refs[0]])
    factors = await engine.recommender.factors(texts[refs[0]])
    rows = np.arange(view.items)
    gains = []
    for arm, held in ((WITHOUT_TEXT, None), (ON, None), (ON, factors)):
        read = await engine.recommender.readings.read(Ask(user=user, arm=arm, limit=len(rows), factors=held, candidates=rows))
        scores = read.ranked.scores
        own = scores[read.ranked.rows == item][0]
        above, ties = int((scores > own).sum()), int((scores == own).sum()) - 1
        gains.append(expected(above, ties, len(scores) - 1, DRAWN, log_factorials(len(scores)))[0])
    return user, tuple(gains), factors is not None
