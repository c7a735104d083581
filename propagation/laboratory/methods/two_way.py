"""Methods that choose between two items, step by step."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from propagation.arrays import F64
from propagation.laboratory.history import History
from propagation.laboratory.methods.asking import Calls
from propagation.laboratory.methods.method import Method


class StepChoices(NamedTuple):
    """The choices of each user, by step.

    Attributes:
        before: [U,S] whether the first choice of a step was the real one, 1 or 0; NaN for a user
            with fewer steps. Likewise after: a further choice, after all that the step taught.
        invalid: [U,S] whether a choice of the step had no usable answer; it counts as not right.
    """

    before: F64
    after: F64
    invalid: F64


class TwoWayMethod(Method, Protocol):
    """A method that learns by choosing between two items."""

    async def choose_steps(self, history: History, steps: int, seed: int) -> StepChoices:
        """Go through the last interactions of each user, and nothing before them.

        Raises:
            MethodFailed: The method ended with an error.
        """

    def estimate_steps(self, history: History, steps: int) -> Sequence[Calls]:
        """Estimate what `choose_steps` will ask, by prompt."""
