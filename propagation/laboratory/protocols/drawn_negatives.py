"""Leave-last-one-out with drawn candidates, for methods that rank by one call.

Source:
    RecNet 3.1.3; AgentCF 4.1.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.history import History, Questions, Targets
from propagation.laboratory.methods import Method
from propagation.laboratory.methods.asking import AskingMethod, Calls
from propagation.laboratory.protocols.candidates import (
    FixedCandidates,
    draw_for_rankable,
    find_drawable,
)
from propagation.laboratory.protocols.expected_gain import CUTS, find_invalid, rate_rankings
from propagation.laboratory.protocols.last_events import check_enough, split_last


@dataclass(frozen=True)
class DrawnNegatives:
    """Ranks each target among items that were drawn once for all methods.

    Attributes:
        negatives: How many items each target is ranked against.
        fixed: Candidates of a file, among which the others are drawn; None: among all items.
    """

    negatives: int = 9
    fixed: FixedCandidates | None = None

    @property
    def measures(self) -> Mapping[str, str]:
        """The header of each measure."""
        return {"invalid": "invalid", **{f"n{cut}": f"N@{cut}" for cut in CUTS}}

    @property
    def description(self) -> str:
        """What is ranked, in a sentence."""
        return (
            f"Each user's last event is ranked among {self.negatives} drawn items that the user"
            " never had; the seed of a repetition draws them, and the order in which they are"
            " shown. An unusable answer counts as `invalid`, and gains 0."
        )

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Split a dataset at each user's last interaction.

        Raises:
            InvalidInput: Too few users have a target and enough unseen items.
        """
        history, targets = split_last(dataset)
        enough = int(find_drawable(history, targets, self.negatives, self.fixed).sum())
        check_enough(
            dataset,
            enough,
            f"with two events or more and {self.negatives} items that the user never had",
        )
        return history, targets

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return each measure of each target, [T].

        They are N@1, N@5 and N@10, and whether the ranking was unusable. NaN for a user with
        too few unseen items to draw.
        """
        asked, some, drawn = draw_for_rankable(
            history, targets, self.negatives, seed, fixed=self.fixed
        )
        scores = await method.score(history, Questions(some.user, some.time, drawn.items), seed)
        gains = rate_rankings(scores, drawn.place)
        out = {name: np.full(len(targets.user), np.nan) for name in self.measures}
        out["invalid"][asked] = find_invalid(scores)
        for place, cut in enumerate(CUTS):
            out[f"n{cut}"][asked] = gains[:, place]
        return out

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`."""
        _, some, drawn = draw_for_rankable(history, targets, self.negatives, seed, fixed=self.fixed)
        return method.estimate(history, Questions(some.user, some.time, drawn.items))
