"""The port of all protocols."""

import typing
from collections.abc import Mapping, Sequence

from propagation.arrays import F64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.history import History, Targets
from propagation.laboratory.methods import Method
from propagation.laboratory.methods.asking import AskingMethod, Calls


class Protocol(typing.Protocol):
    """Chooses targets and candidates, and rates what a method makes of them."""

    @property
    def description(self) -> str:
        """What is ranked, in a sentence."""

    @property
    def measures(self) -> Mapping[str, str]:
        """The header of each measure, by its name in files of results."""

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Split a dataset into what is known and the targets.

        Raises:
            InvalidInput: The dataset does not suit the protocol.
        """

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Rate a method on each target.

        Returns:
            Each measure of each target, [T]; NaN where a target cannot be rated.
        """


@typing.runtime_checkable
class EstimatingProtocol(Protocol, typing.Protocol):
    """A protocol that can estimate how much a method will ask."""

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the most calls of `run`, by prompt."""
