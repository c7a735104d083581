"""One item of twenty: the last item among drawn ones, by HitRatio@1.

Source:
    AFL 4.1.2, 4.3.3 and 4.4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64, I64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.history import History, Questions, Targets
from propagation.laboratory.methods import Method, MethodFailed
from propagation.laboratory.methods.afl.ports import INVALID, ChoosingMethod
from propagation.laboratory.methods.asking import AskingMethod, Calls
from propagation.laboratory.protocols.candidates import (
    DrawnCandidates,
    FixedCandidates,
    Position,
    draw_candidates,
    find_drawable,
)
from propagation.laboratory.protocols.last_events import (
    check_enough,
    sample_once,
    split_last,
)

NEGATIVES, TARGETS, ITERATIONS = 19, 200, 4
GROUPS = ("popular", "middle", "rare")
POPULAR_SHARE, MIDDLE_SHARE = 0.2, 0.5
"""The most popular fifth of the items, those until the half, and the other half (AFL 4.4.1)."""


@dataclass(frozen=True)
class OneOfTwenty:
    """Asks for one of twenty candidates.

    Attributes:
        positions: Where the target is among them; each is a run of its own.
        targets: The most targets; of more users, so many are drawn once.
        fixed: Candidates of a file, among which the others are drawn; None: among all items.
    """

    positions: Sequence[Position] = ("random",)
    targets: int = TARGETS
    fixed: FixedCandidates | None = None

    @property
    def measures(self) -> Mapping[str, str]:
        """The header of each measure."""
        out = {"invalid": "invalid"}
        for position in self.positions:
            hit = "HR@1" if position == "random" else position
            for number in range(1, ITERATIONS + 1):
                out[f"{position}_hit_{number}"] = f"{hit} ({number})"
                for group in GROUPS:
                    out[f"{position}_{group}_{number}"] = f"{group} ({number})"
        return out

    @property
    def description(self) -> str:
        """What is asked, in a sentence."""
        return (
            f"Each user's last event is one of {NEGATIVES + 1} candidates; the others are drawn"
            f" from what the user never had, uniformly, by the seed. At most {self.targets} users,"
            " drawn once. (n): after at most n iterations of AFL's loop; other methods have one."
            " An invalid answer, after asking once more, counts as a miss. Of equal scores each"
            " item counts by its share. Popular: the most taken fifth of the items; rare: the less"
            " taken half."
            + (
                ""
                if self.positions == ("random",)
                else " First, last: HR@1 with the right item there."
            )
        )

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Split a dataset into what is known and the targets.

        Raises:
            InvalidInput: There are too few targets.
        """
        history, targets = split_last(dataset)
        kept = np.flatnonzero(find_drawable(history, targets, NEGATIVES, self.fixed))
        who = f"with two events or more and {NEGATIVES} items that they never had"
        check_enough(dataset, len(kept), who, "this")
        kept = sample_once(kept, self.targets)
        return history, Targets(targets.user[kept], targets.item[kept], targets.time[kept])

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return each measure of each target, [T]."""
        values = {"invalid": np.zeros(len(targets.user))}
        group = group_by_popularity(history)
        for position in self.positions:
            drawn = draw_candidates(history, targets, NEGATIVES, seed, position, self.fixed)
            questions = Questions(targets.user, targets.time, drawn.items)
            chosen = await _choose(method, history, questions, seed)
            invalid = ~chosen[-1].any(axis=1)
            values["invalid"] += invalid / len(self.positions)
            for number, weights in enumerate(chosen, 1):
                for name, value in _rate(weights, drawn, group).items():
                    values[f"{position}_{name}_{number}"] = value
        return values

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`."""
        out: list[Calls] = []
        for position in self.positions:
            drawn = draw_candidates(history, targets, NEGATIVES, seed, position, self.fixed)
            out += method.estimate(history, Questions(targets.user, targets.time, drawn.items))
        return out


def _rate(weights: F64, drawn: DrawnCandidates, group: I64) -> dict[str, F64]:
    """Return the hit, and the groups of the recommended items, by target."""
    groups = group[drawn.items]
    return {
        "hit": weights[np.arange(len(weights)), drawn.place],
        **{name: (weights * (groups == place)).sum(axis=1) for place, name in enumerate(GROUPS)},
    }


async def _choose(
    method: Method, history: History, questions: Questions, seed: int
) -> Sequence[F64]:
    """Let a method choose.

    Returns:
        For at most 1 to ITERATIONS iterations, the weight of each candidate [T,C]: the chosen one
        has 1, items with equal highest scores share it, and an invalid answer has none.
    """
    if isinstance(method, ChoosingMethod):
        places = await method.choose(history, questions, seed)
        each = [_weigh_places(column, questions.candidates.shape) for column in places.T]
    else:
        scores = await method.score(history, questions, seed)
        if np.isinf(scores).any():
            raise MethodFailed(f"{method.name}: it gave scores that are not finite")
        best = scores == scores.max(axis=1, keepdims=True)  # no item of a row of NaN
        each = [best / np.maximum(best.sum(axis=1, keepdims=True), 1)]
    return [*each, *[each[-1]] * (ITERATIONS - len(each))]


def _weigh_places(places: I64, shape: tuple[int, ...]) -> F64:
    weights = np.zeros(shape)
    valid = np.flatnonzero(places != INVALID)
    weights[valid, places[valid]] = 1.0
    return weights


def group_by_popularity(history: History) -> I64:
    """Return each item's place in GROUPS, [items].

    Items are ordered by how many interactions they have in the history; those with equal numbers
    by their rows.
    """
    count = np.bincount(history.item, minlength=history.items)
    rank = np.empty(history.items, np.int64)
    rank[np.argsort(-count, kind="stable")] = np.arange(history.items)
    share = rank / history.items
    return np.where(share < POPULAR_SHARE, 0, np.where(share < MIDDLE_SHARE, 1, 2))
