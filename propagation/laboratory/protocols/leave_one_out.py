"""Leave-last-one-out: each user's last item among items that the user never had.

Figures are expectations over all draws of the other items, so that no draw adds noise. A method
that asks a language model cannot score all items: it ranks one draw for each seed.

Source:
    RecNet 3.1.3; AgentCF, experiments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from propagation.arrays import F64, I64
from propagation.datasets.dataset import Dataset
from propagation.evaluation.kernels.arms import log_factorials
from propagation.evaluation.protocols.passes import find_last
from propagation.laboratory.history import History, Questions, Targets
from propagation.laboratory.methods import Method
from propagation.laboratory.methods.asking import AskingMethod, Calls, asks_model
from propagation.laboratory.protocols.candidates import (
    DrawnCandidates,
    FixedCandidates,
    draw_candidates,
    find_drawable,
    list_pool,
)
from propagation.model import InvalidInput, pluralize

CUTS = (1, 5, 10)
MANY = 99
LEAST_TARGETS = 10
MOST_SCORES = 200_000_000
"""Every item is scored for every target, which takes 16 bytes each."""


@dataclass(frozen=True)
class LeaveOneOut:
    """Ranks each target against drawn items.

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
            **{f"n{cut}": f"N@{cut}" for cut in CUTS},
            "n10_of_100": "N@10 of 100",
            "invalid": "invalid",
        }

    @property
    def description(self) -> str:
        """What is ranked, in a sentence."""
        return (
            f"Each user's last event is ranked against {self.negatives} items, and against {MANY},"
            " that the user never had, in expectation over all draws. A method that asks a language"
            f" model ranks one draw of {self.negatives} items for each seed; an invalid answer,"
            " after asking once more, gains nothing."
        )

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Split a dataset into what is known and the targets.

        Raises:
            InvalidInput: There are too few targets, or too many users and items.
        """
        history, targets = split_last(dataset)
        if len(targets.user) < LEAST_TARGETS:
            raise InvalidInput(
                "events",
                f"{dataset.name} has {pluralize(len(targets.user), 'user')} with two events or"
                f" more; leave-last-one-out needs at least {LEAST_TARGETS}",
            )
        if len(targets.user) * history.items > MOST_SCORES:
            raise InvalidInput(
                "events",
                f"{dataset.name} has {pluralize(len(targets.user), 'target')} and"
                f" {pluralize(history.items, 'item')}; every item is scored for every target, of"
                f" which {MOST_SCORES:,} fit in memory. Take fewer events with --first",
            )
        return history, targets

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return each measure of each target, [T].

        They are N@1, N@5 and N@10 as `n1`, `n5` and `n10`, and N@10 against MANY items as
        `n10_of_100`; NaN for a user with too few unseen items to draw. A method that asks a model
        has no `n10_of_100`. `invalid` is 1 where its answer was not usable.
        """
        if asks_model(method):
            return await self._run_drawn(method, history, targets, seed)
        everything = np.tile(np.arange(history.items), (len(targets.user), 1))
        questions = Questions(targets.user, targets.time, everything)
        scores = await method.score(history, questions, seed)
        had = history.list_items_by_user()
        values = np.array(
            [
                self._rate(row, target, list_pool(history, user, had[user], target, self.fixed))
                for row, user, target in zip(
                    scores, targets.user.tolist(), targets.item.tolist(), strict=True
                )
            ]
        ).reshape(-1, len(CUTS) + 1)
        names = [name for name in self.measures if name != "invalid"]
        return {
            **{name: values[:, place] for place, name in enumerate(names)},
            "invalid": np.zeros(len(values)),
        }

    async def _run_drawn(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Rate a method on one draw of candidates."""
        rows, drawn = self._draw(history, targets, seed)
        questions = Questions(targets.user[rows], targets.time[rows], drawn.items)
        scores = await method.score(history, questions, seed)
        out = {name: np.full(len(targets.user), np.nan) for name in self.measures}
        for row, place, given in zip(rows.tolist(), drawn.place, scores, strict=True):
            valid = not np.isnan(given).any()
            better = int((given > given[place]).sum())
            equal = int((given == given[place]).sum()) - 1
            for cut in CUTS:
                pool = len(given) - 1
                gain = expect_gain(better, equal, pool, pool, cut) if valid else 0.0
                out[f"n{cut}"][row] = gain
            out["invalid"][row] = float(not valid)
        return out

    def _draw(self, history: History, targets: Targets, seed: int) -> tuple[I64, DrawnCandidates]:
        """Draw candidates.

        Returns:
            The rows of the targets whose users have enough unseen items, and their candidates.
        """
        rows = np.flatnonzero(find_drawable(history, targets, self.negatives, self.fixed))
        some = Targets(targets.user[rows], targets.item[rows], targets.time[rows])
        return rows, draw_candidates(history, some, self.negatives, seed, fixed=self.fixed)

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`."""
        rows, drawn = self._draw(history, targets, seed)
        return method.estimate(
            history, Questions(targets.user[rows], targets.time[rows], drawn.items)
        )

    def _rate(self, scores: F64, target: int, pool: I64) -> list[float]:
        others = scores[pool]
        better = int((others > scores[target]).sum())
        equal = int((others == scores[target]).sum())
        pairs = [*((self.negatives, cut) for cut in CUTS), (MANY, CUTS[-1])]
        return [
            expect_gain(better, equal, len(others), drawn, cut) if drawn <= len(others) else np.nan
            for drawn, cut in pairs
        ]


def split_last(dataset: Dataset) -> tuple[History, Targets]:
    """Split a dataset at each user's last interaction.

    The last ones are targets, and all others are known. A user with one interaction has no target.
    The dataset's seed orders interactions of one moment.
    """
    user, item, time = dataset.rows()
    users = len(dataset.users)
    last = find_last(user, users)
    known = np.flatnonzero(~last)
    return (
        History(users, len(dataset.items), user[known], item[known], time[known], known),
        Targets(user[last], item[last], time[last]),
    )


def count_tied(history: History, targets: Targets) -> int:
    """Count targets whose user had another item at the same time."""
    newest = np.full(history.users, np.iinfo(np.int64).min)
    target = np.full(history.users, -1, np.int64)
    target[targets.user] = targets.item
    other = history.item != target[history.user]  # a history may hold the target itself
    np.maximum.at(newest, history.user[other], history.time[other])
    return int((newest[targets.user] == targets.time).sum())


def expect_gain(better: int, equal: int, pool: int, drawn: int, cut: int) -> float:
    """Return the expected N@cut of a target among drawn items.

    `compute_expected` of the evaluation's kernels computes N@10 and HR@1 alike, compiled.

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
    logs = _load_log_factorials(pool)

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


_load_log_factorials = cache(log_factorials)
