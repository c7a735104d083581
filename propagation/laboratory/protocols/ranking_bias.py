"""Position bias and popularity bias of methods that rank shown candidates.

Source:
    AgentCF 4.3.2 (position bias and popularity bias).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64, I64, Bools
from propagation.datasets.dataset import Dataset
from propagation.laboratory.history import History, Questions, Targets
from propagation.laboratory.methods import Method
from propagation.laboratory.methods.asking import AskingMethod, Calls
from propagation.laboratory.methods.popularity import count_adopters
from propagation.laboratory.protocols.candidates import (
    FixedCandidates,
    Position,
    draw_for_rankable,
)
from propagation.laboratory.protocols.drawn_negatives import DrawnNegatives
from propagation.laboratory.protocols.expected_gain import find_invalid, rate_rankings
from propagation.laboratory.protocols.one_of_twenty import GROUPS, group_by_popularity

N10 = 2
"""The column of N@10 in rated rankings."""
POSITIONS: Mapping[str, Position] = {"n10": "random", "n10_first": "first", "n10_last": "last"}
"""The places of the target by the measure of N@10 there; the shuffled order is the first."""


@dataclass(frozen=True)
class RankingBias:
    """Asks for three rankings of the same items, in different orders.

    They are shuffled, or the target is first, or last.

    Attributes:
        negatives: How many items each target is ranked against.
        fixed: Candidates of a file, among which the others are drawn; None: among all items.
    """

    negatives: int = 9
    fixed: FixedCandidates | None = None

    @property
    def measures(self) -> Mapping[str, str]:
        """The header of each measure."""
        return {
            "invalid": "invalid",
            "n10_first": "N@10, shown first",
            "n10_last": "N@10, shown last",
            "first_on_top": "first shown on top",
            "popular_on_top": "most popular on top",
            **{f"n10_{group}": f"N@10, {group}" for group in GROUPS},
            "n10": "N@10",
        }

    @property
    def description(self) -> str:
        """What is ranked, in a sentence."""
        return (
            f"Each user's last event is ranked among {self.negatives} drawn items three times:"
            " shuffled, shown first and shown last. `on top` are shares of the shuffled rankings"
            " that begin with the item that was shown first, or with the most popular one."
            " Targets are popular, middle or rare: the 20, 30 and 50% of items by events."
        )

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Split a dataset as `DrawnNegatives` does."""
        return DrawnNegatives(self.negatives, self.fixed).split(dataset)

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return each measure of each target, [T].

        NaN for a user with too few unseen items, and in the groups that a target is not of. An
        unusable ranking gains 0, and has nothing on top.
        """
        orders = {
            name: draw_for_rankable(history, targets, self.negatives, seed, position, self.fixed)
            for name, position in POSITIONS.items()
        }
        asked, some, shuffled = orders["n10"]
        scores = await method.score(
            history,
            Questions(
                np.tile(some.user, len(orders)),
                np.tile(some.time, len(orders)),
                np.concatenate([drawn.items for _, _, drawn in orders.values()]),
            ),
            seed,
        )
        out = {name: np.full(len(targets.user), np.nan) for name in self.measures}
        parts = np.split(scores, len(orders))
        for (name, (_, _, drawn)), part in zip(orders.items(), parts, strict=True):
            out[name][asked] = rate_rankings(part, drawn.place)[:, N10]
        popularity: I64 = count_adopters(history)[shuffled.items]
        most = np.asarray(popularity == popularity.max(axis=1, keepdims=True))
        is_first = np.zeros(shuffled.items.shape, np.bool_)
        is_first[:, 0] = True
        out["invalid"][asked] = find_invalid(scores).reshape(len(orders), -1).mean(axis=0)
        out["first_on_top"][asked] = share_on_top(parts[0], is_first)
        out["popular_on_top"][asked] = share_on_top(parts[0], most)
        group = group_by_popularity(history)[targets.item]
        for number, name in enumerate(GROUPS):
            out[f"n10_{name}"] = np.where(group == number, out["n10"], np.nan)
        return out

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`."""
        _, some, drawn = draw_for_rankable(history, targets, self.negatives, seed, fixed=self.fixed)
        return method.estimate(
            history,
            Questions(
                np.tile(some.user, len(POSITIONS)),
                np.tile(some.time, len(POSITIONS)),
                np.tile(drawn.items, (len(POSITIONS), 1)),
            ),
        )


def share_on_top(scores: F64, wanted: Bools) -> F64:
    """Return whether each ranking begins with a wanted item, [Q].

    Equal scores share the top. It is 0 for a ranking without a usable answer.

    Args:
        wanted: [Q,C].
    """
    usable = np.asarray(np.isfinite(scores).all(axis=1))
    known = np.where(usable[:, None], scores, 0.0)
    best = np.asarray(known == known.max(axis=1, keepdims=True))
    shares: F64 = np.where(usable, (best & wanted).sum(axis=1) / best.sum(axis=1), 0.0)
    return shares
