"""Leave-last-one-out: each user's last item among items that the user never had.

Figures are expectations over all draws of the other items, so that no draw adds noise. A method
that asks a language model cannot score all items: it ranks one draw for each seed.

Source:
    RecNet 3.1.3; AgentCF, experiments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.history import History, Questions, Targets
from propagation.laboratory.methods import Method
from propagation.laboratory.methods.asking import AskingMethod, Calls, asks_model
from propagation.laboratory.protocols.candidates import FixedCandidates, find_drawable, list_pool
from propagation.laboratory.protocols.drawn_negatives import DrawnNegatives
from propagation.laboratory.protocols.expected_gain import CUTS, MANY, rate_against_pool
from propagation.laboratory.protocols.last_events import check_enough, split_last
from propagation.model import InvalidInput, pluralize

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
        if len(targets.user) * history.items > MOST_SCORES:
            raise InvalidInput(
                "events",
                f"{dataset.name} has {pluralize(len(targets.user), 'target')} and"
                f" {pluralize(history.items, 'item')}; every item is scored for every target, of"
                f" which {MOST_SCORES:,} fit in memory. Take fewer events with --first",
            )
        check_enough(
            dataset,
            int(find_drawable(history, targets, self.negatives, self.fixed).sum()),
            f"with two events or more and {self.negatives} items that the user never had",
            "leave-last-one-out",
        )
        return history, targets

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return each measure of each target, [T].

        They are N@1, N@5 and N@10 as `n1`, `n5` and `n10`, and N@10 against MANY items as
        `n10_of_100`; NaN for a user with too few unseen items to draw. A method that asks a model
        ranks one draw, as in `DrawnNegatives`, and has no `n10_of_100`.
        """
        if asks_model(method):
            drawn = await DrawnNegatives(self.negatives, self.fixed).run(
                method, history, targets, seed
            )
            return {**drawn, "n10_of_100": np.full(len(targets.user), np.nan)}
        everything = np.tile(np.arange(history.items), (len(targets.user), 1))
        questions = Questions(targets.user, targets.time, everything)
        scores = await method.score(history, questions, seed)
        had = history.list_items_by_user()
        values = np.array(
            [
                rate_against_pool(
                    row,
                    target,
                    list_pool(history, user, had[user], target, self.fixed),
                    self.negatives,
                )
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

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`."""
        return DrawnNegatives(self.negatives, self.fixed).estimate(method, history, targets, seed)
