"""Rank through the whole loop in lockstep, with texts and filter rules.

The loop is that of workflow/replay.py. Texts reach the ranking through the profile feature, and
filter rules through factors on the taste routers. Both change only by reasoning and rounds, so the
protocols of the numbers cannot measure them. Besides the live arm, the combiner learns an arm
without the profile feature on the same events.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.evaluation.kernels.arms import DRAWN, compute_expected, log_factorials
from propagation.model import (
    F64,
    I64,
    ClientChange,
    ClientKey,
    ClientKind,
    InvalidInput,
    NewInteraction,
    index_of,
)
from propagation.numbers.rules import Feature, has_seen
from propagation.workflow.engine import Engine
from propagation.workflow.read.scoring import ReadRequest
from propagation.workflow.replay import replay
from propagation.workflow.views import OFF, ON, create_live_combiner

WITHOUT_TEXT = 2
STEP = 16
WAYS = ("off", "plain", "text", "rules")
OFF_WAY, PLAIN, TEXT, RULES = range(len(WAYS))


@dataclass(frozen=True)
class LoopRanking:
    """The result of the loop.

    Args:
        user: [R] rows.
        values: [R,4] N@10 against 9 unseen items by WAYS: propagation off, numbers alone, with the
            profile feature, with filter rules too.
        ruled: The share (0 to 1) of ranked events whose user had a filter rule.
    """

    user: I64
    values: F64
    ruled: float


async def rank_in_loop(
    engine: Engine,
    clients: Iterable[ClientChange],
    events: Sequence[NewInteraction],
    progress: Callable[[int], None] = lambda done: None,
) -> LoopRanking:
    """Run the loop on an empty engine, and rank.

    The engine must be open, and nothing else may use it. The figures are of the last three fifths
    of the events. Only a user's first event in each step of 16 events is ranked, since by then
    everything that the user did before is learned. It is ranked against all unseen items.

    Args:
        progress: Called with the number of events done.

    Raises:
        InvalidInput: There is nothing to rank.
    """
    await replay(engine, clients, ())
    # The two live arms (off and on), and the live arm without the profile feature.
    combiner = create_live_combiner(arms=3)
    combiner.mask[WITHOUT_TEXT, Feature.PROFILE] = 0
    engine.numbers.view.combiner = combiner
    found: list[tuple[int, Sequence[float], bool]] = []
    for start in range(0, len(events), STEP):
        part = events[start : start + STEP]
        if start >= 2 * len(events) // 5:
            first_of_users = {event.user_id: event for event in reversed(part)}
            for event in first_of_users.values():
                ranked = await _rank(engine, event)
                if ranked is not None:
                    found.append(ranked)
        await replay(engine, (), part, step=STEP)
        progress(min(start + STEP, len(events)))
    if not found:
        raise InvalidInput(
            "events",
            f"from event {2 * len(events) // 5:,} on, no event can be ranked: each is the first of"
            " its user, repeats an item that the user had, names a new or hidden item, or leaves no"
            " unseen item to compare with",
        )
    users, gains, ruled = zip(*found, strict=True)
    return LoopRanking(np.array(users, np.int64), np.array(gains), float(np.mean(ruled)))


async def _rank(engine: Engine, event: NewInteraction) -> tuple[int, Sequence[float], bool] | None:
    """Rank an event's item.

    Returns:
        The user's row, the N@10 by WAYS, and whether the user has a filter rule; None if the event
        is the user's first, or a repeat of an item that the user had, if the item is new or hidden,
        or if there is no other unseen item.
    """
    view = engine.numbers.view
    refs = await engine.store.find_refs(
        [
            ClientKey(kind=ClientKind.USER, id=event.user_id),
            ClientKey(kind=ClientKind.ITEM, id=event.item_id),
        ]
    )
    user, item = (-1 if ref is None else index_of(ref) for ref in refs)
    state = view.state
    if refs[0] is None or not state.history_length[user] or has_seen(state.seen_set, user, item):
        return None
    texts = await engine.store.load_texts([refs[0]])
    factors = await engine.recommender.factors(texts[refs[0]])
    rows = np.arange(view.items)
    gains, now = [], event.time / 1000
    for arm, rules in ((OFF, None), (WITHOUT_TEXT, None), (ON, None), (ON, factors)):
        read = await engine.recommender.batcher.read(
            ReadRequest(
                user=user, arm=arm, limit=len(rows), factors=rules, candidates=rows, now=now
            )
        )
        scores = read.ranked.scores
        own = scores[read.ranked.rows == item]
        if not len(own) or len(scores) < 2:
            return None
        above, ties = int((scores > own).sum()), int((scores == own).sum()) - 1
        gains.append(
            float(
                compute_expected(above, ties, len(scores) - 1, DRAWN, log_factorials(len(scores)))[
                    0
                ]
            )
        )
    return user, gains, factors is not None
