"""Replay of the holdout, by which a plan is judged.

The holdout is the newest learned interactions of the epoch. The snapshot is a copy of the numbers,
taken back to T, the moment before the holdout. From that state, the holdout is replayed with the
present routers and with the plan's; optimization/holdout_judge.py computes the verdict.

Source: `docs/evolution.md`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from propagation.model import F32, F64, I64, WRITTEN, Array, Bools, RouterMap
from propagation.numbers import (
    CONTENT_DECAY,
    MOST_BACK,
    HoldoutEvents,
    Tastes,
    Written,
    copy_tastes,
    evolve_mass,
    evolve_total,
    evolve_trust,
    find_retired,
    replay_events,
    rewind,
    rewind_content,
)
from propagation.numbers.rules import Feature
from propagation.optimization.holdout_judge import (
    Verdict,
    compute_lift_slopes,
    compute_running_deviation,
    judge,
)
from propagation.ports import GraphStore, normalize_rows
from propagation.workflow.evolve.plan import Plan
from propagation.workflow.learn import TASTE, AlignedBlock, read_aligned_blocks
from propagation.workflow.views import ON, NumbersView

SLACK = 4_096


@dataclass(frozen=True)
class Holdout:
    """The H newest interactions, in order; a plan is judged by them.

    Attributes:
        judged_from: T, the sequence before the first of them.
        users: User rows [H].
        items: Rows of the chosen items [H].
        negatives: Rows of the items passed over [H]; -1 where there is none.
        weights: Weights of the interactions [H].
        routers: The routers of the taste bank that rule 5 wrote to [H, 16].
        written: How much rule 5 wrote to each of these routers [H, 16].
        scores: Scores of the chosen item and the negative, as learn stored them [H, 2].
    """

    judged_from: int
    users: I64
    items: I64
    negatives: I64
    weights: F64
    routers: I64
    written: F64
    scores: F32

    def __len__(self) -> int:
        return len(self.users)


async def load_holdout(store: GraphStore, through: int, epoch: int, size: int) -> Holdout:
    """Load the newest interactions that were learned in `epoch`, at most `size`."""
    back = size + SLACK
    while True:
        after = max(through - back, 0)
        parts = [part async for part in read_aligned_blocks(store, after, through)]
        of_epoch = [part for part in parts if part.block.epoch == epoch]
        if (
            len(of_epoch) < len(parts)
            or after == 0
            or sum(len(part.rows) for part in of_epoch) >= size
        ):
            return _keep_newest(of_epoch, through, size)
        back *= 2


def _keep_newest(parts: Sequence[AlignedBlock], through: int, size: int) -> Holdout:
    def column(values: Sequence[Array], kind: type, *width: int) -> Array:
        empty: Array = np.zeros((0, *width), kind)
        return np.concatenate([empty, *(value.astype(kind) for value in values)])[-size:]

    sequence = column([part.block.sequence[part.rows] for part in parts], np.int64)
    return Holdout(
        judged_from=int(sequence[0]) - 1 if len(sequence) else through,
        users=column([part.users for part in parts], np.int64),
        items=column([part.items for part in parts], np.int64),
        negatives=column([part.block.negatives[part.rows, 0] for part in parts], np.int64),
        weights=column([part.weights for part in parts], np.float64),
        routers=column([part.block.routers[part.rows, TASTE] for part in parts], np.int64, WRITTEN),
        written=column(
            [part.block.weights[part.rows, TASTE] for part in parts], np.float64, WRITTEN
        ),
        scores=column([part.block.scores[part.rows] for part in parts], np.float32, 2),
    )


@dataclass
class Snapshot:
    """A copy of the numbers that planning and judging an evolution need.

    Attributes:
        mass: N of all items [I, K].
        adoptions: How many users adopted each item [I].
        retired: Numbers that stand for no router.
        content: Decayed sums of the embeddings of each user's items, for all users [U, D].
        contents: Embeddings of the holdout's chosen items [H, D].
        events: The holdout's interactions; their users and items are places in `tastes`.
        tastes: The numbers of the holdout's users and items only, by place.
        items: Rows of the items in `tastes`.
        weights: The live combiner's weights of the taste bank's lift [9].
        deviation: The deviation by which the live combiner divides that lift.
        known: Marks the events from which on their user's trust is exact [H]; filled by
            `rewind_snapshot`.
    """

    epoch: int
    mass: F32
    adoptions: F64
    retired: frozenset[int]
    content: F32
    contents: F32
    events: HoldoutEvents
    tastes: Tastes
    items: I64
    weights: F64
    deviation: float
    known: Bools

    @property
    def routers(self) -> int:
        return len(self.tastes.total)

    @property
    def current_routers(self) -> frozenset[int]:
        """Numbers of the routers that are not retired."""
        return frozenset(range(self.routers)) - self.retired

    @property
    def directions(self) -> F32:
        """The users' unit vectors [U, D]; zeros for a user without history."""
        return normalize_rows(self.content)


def take_snapshot(view: NumbersView, holdout: Holdout) -> Snapshot:
    """Copy the numbers of a view that planning and judging need.

    For 100,000 clients the copy takes about 70 MB and a few hundredths of a second.
    """
    state, bank = view.state, view.state.taste
    users, user_places = np.unique(holdout.users, return_inverse=True)
    items, places = np.unique(
        np.concatenate([holdout.items, np.maximum(holdout.negatives, 0)]), return_inverse=True
    )
    events = HoldoutEvents(
        user_places,
        places[: len(holdout)],
        np.where(holdout.negatives >= 0, places[len(holdout) :], -1),
        holdout.weights,
        holdout.routers,
        holdout.written,
    )
    tastes = Tastes(
        bank.mass[items].astype(np.float64),
        bank.total.copy(),
        bank.trust[users].astype(np.float64),
        state.adoptions[items],
        state.totals.copy(),
        state.history_length[users],
        users,
        bank.discount,
        bank.sharpness,
        state.limits,
        state.seed,
    )
    return Snapshot(
        epoch=view.epoch,
        mass=bank.mass[: view.items].copy(),
        adoptions=state.adoptions[: view.items].copy(),
        retired=frozenset(np.flatnonzero(find_retired(bank)).tolist()),
        content=state.user_content[: view.users].copy(),
        contents=state.content[holdout.items],
        events=events,
        tastes=tastes,
        items=items,
        weights=view.combiner.weights[ON, Feature.LIFT_TASTE].copy(),
        deviation=compute_running_deviation(view.combiner, Feature.LIFT_TASTE),
        known=np.zeros(len(holdout), np.bool_),
    )


def rewind_snapshot(snapshot: Snapshot) -> None:
    """Take a snapshot back to T: undo the holdout's events in place."""
    rewind(snapshot.tastes, snapshot.events, snapshot.known)
    snapshot.mass[snapshot.items] = snapshot.tastes.mass
    snapshot.adoptions[snapshot.items] = snapshot.tastes.adoptions
    vectors = snapshot.content[snapshot.tastes.rows].astype(np.float64)
    rewind_content(vectors, snapshot.events.user, snapshot.contents, CONTENT_DECAY, MOST_BACK)
    snapshot.content[snapshot.tastes.rows] = vectors


def judge_plan(plan: Plan, snapshot: Snapshot, holdout: Holdout) -> Verdict | None:
    """Compare a plan with the present routers.

    It may run in a thread, because it changes nothing that others use.

    Args:
        snapshot: The snapshot, taken back to T.

    Returns:
        The verdict; None if fewer than two users have a prediction to judge by.
    """
    divisions = plan.divide(snapshot.directions, len(snapshot.mass))
    change = plan.numbering.to_map(
        {router: division.halves for router, division in divisions.items()},
        holdout.judged_from,
        snapshot.epoch,
        np.zeros((snapshot.routers, 0), np.float32),
    )
    written = {router: division.mass for router, division in divisions.items()}
    before, bins = replay_holdout(copy_tastes(snapshot.tastes), snapshot)
    after, _ = replay_holdout(_evolve(snapshot, change, written), snapshot)
    rows = np.flatnonzero(
        (holdout.negatives >= 0) & np.isfinite(holdout.scores).all(axis=1) & snapshot.known
    )
    slopes = [
        compute_lift_slopes(snapshot.weights, snapshot.deviation, bins[rows, 0], bins[rows, place])
        for place in (1, 2)
    ]
    return judge(
        holdout.users[rows],
        holdout.scores[rows],
        before[rows],
        after[rows],
        np.stack(slopes, axis=1),
        len(holdout),
        min(plan.superfluous, plan.numbering.fewer(snapshot.routers, snapshot.retired)),
    )


def replay_holdout(tastes: Tastes, snapshot: Snapshot) -> tuple[F64, I64]:
    """Replay the holdout, and read the lift before each event.

    Args:
        tastes: The routers to replay on; changed in place.

    Returns:
        The taste bank's lift s(u, i) of i+ and i- [H, 2]; and the combiner's bins of user, i+ and
        i- [H, 3].
    """
    size = len(snapshot.events.user)
    readings, bins = np.zeros((size, 2)), np.zeros((size, 3), np.int64)
    replay_events(tastes, snapshot.events, snapshot.known, readings, bins)
    return readings, bins


def _evolve(snapshot: Snapshot, change: RouterMap, written: dict[int, Written]) -> Tastes:
    rows = {
        router: Written(both.first[snapshot.items], both.second[snapshot.items])
        for router, both in written.items()
    }
    tastes = copy_tastes(snapshot.tastes)
    return tastes._replace(
        mass=evolve_mass(tastes.mass, change, rows),
        trust=evolve_trust(tastes.trust, change),
        total=evolve_total(tastes.total, snapshot.mass, change, written),
    )
