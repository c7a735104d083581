"""Leave-last-one-out: each user's last item among items that the user never had.

Figures are expectations over all draws of the other candidates, so that no draw adds noise.

Source:
    RecNet 3.1.3; AgentCF, experiments.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from propagation.arrays import F64, I64
from propagation.laboratory.history import History, Questions, Targets
from propagation.laboratory.methods import Method

CUTS = (1, 5, 10)
MANY = 99


@dataclass(frozen=True)
class LeaveOneOut:
    """Ranks each target against drawn items.

    Attributes:
        negatives: How many items each target is ranked against; fewer if there are not so many.
    """

    negatives: int = 9

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return each measure of each target, [T].

        They are N@1, N@5 and N@10 as `n1`, `n5` and `n10`, and N@10 against MANY items as
        `n10_of_100`.
        """
        everything = np.broadcast_to(
            np.arange(history.items), (len(targets.user), history.items)
        ).copy()
        scores = await method.score(
            history, Questions(targets.user, targets.time, everything), seed
        )
        had = history.list_items_by_user()
        values = np.array(
            [
                self._rate(row, target, had[user])
                for row, user, target in zip(scores, targets.user, targets.item, strict=True)
            ]
        ).reshape(-1, len(CUTS) + 1)
        names = [*(f"n{cut}" for cut in CUTS), "n10_of_100"]
        return {name: values[:, place] for place, name in enumerate(names)}

    def _rate(self, scores: F64, target: int, had: I64) -> list[float]:
        unseen = np.ones(len(scores), np.bool_)
        unseen[had] = False
        unseen[target] = False
        others = scores[unseen]
        better = int((others > scores[target]).sum())
        equal = int((others == scores[target]).sum())
        pairs = [*((self.negatives, cut) for cut in CUTS), (MANY, CUTS[-1])]
        return [
            expect_gain(better, equal, len(others), min(drawn, len(others)), cut)
            for drawn, cut in pairs
        ]


def expect_gain(better: int, equal: int, pool: int, drawn: int, cut: int) -> float:
    """Return the expected N@cut of a target among drawn items.

    Args:
        better: How many items of the pool have a higher score than the target; `equal` have its
            score, and are above or below it by chance.
        pool: How many items may be drawn.
        drawn: How many are drawn, without replacement.
    """
    above = np.arange(better, better + equal + 1)
    return float(_expect_gains(above, pool, drawn, cut).mean())


def _expect_gains(above: I64, pool: int, drawn: int, cut: int) -> F64:
    """Return the expected N@cut for each number of better items, [A]."""
    counts = np.arange(min(cut, drawn + 1))
    logs = _log_factorials(pool)

    def log_choose(total: I64, chosen: I64) -> F64:
        possible = (chosen >= 0) & (chosen <= total)
        inside = np.where(possible, chosen, 0)
        size = np.maximum(total, 0)
        found = logs[size] - logs[inside] - logs[size - inside]
        return np.where(possible, found, -np.inf)

    chances = np.exp(
        log_choose(above[:, None], counts)
        + log_choose(pool - above[:, None], drawn - counts)
        - log_choose(np.array([pool]), np.array([drawn]))
    )
    gains: F64 = chances @ (1 / np.log2(counts + 2))
    return gains


@cache
def _log_factorials(largest: int) -> F64:
    return np.concatenate([np.zeros(1), np.cumsum(np.log(np.arange(1.0, largest + 1)))])
