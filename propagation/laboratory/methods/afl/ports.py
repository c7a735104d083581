"""Ports of methods that choose an item, or decide about items.

These ports have no properties, since looking for one would read it (Python 3.11), and a method's
version raises an error if its packages are missing.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from propagation.arrays import F64, I64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.asking import Calls

INVALID = -1


@runtime_checkable
class ChoosingMethod(Protocol):
    """A method that recommends one of the candidates."""

    async def choose(self, history: History, questions: Questions, seed: int) -> I64:
        """Choose a candidate of each question.

        Returns:
            [Q,N] places among the candidates after at most 1 to N iterations; INVALID where no
            answer was usable.

        Raises:
            MethodNotInstalled: The packages of a method inside are missing.
            MethodFailed: A method inside failed, or the model answers no call now.
        """


@runtime_checkable
class DecidingMethod(Protocol):
    """A method that says of each candidate whether the user likes it."""

    async def decide(self, history: History, questions: Questions, seed: int) -> F64:
        """Decide about each candidate.

        Returns:
            [Q,C] 1 for yes and 0 for no; NaN where no answer was usable.

        Raises:
            MethodNotInstalled: The packages of a method inside are missing.
            MethodFailed: A method inside failed, or the model answers no call now.
        """

    def estimate_decisions(self, history: History, questions: Questions) -> Sequence[Calls]:
        """Estimate what `decide` will ask, by prompt."""
