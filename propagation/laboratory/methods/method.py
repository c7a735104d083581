"""The port of all methods."""

from typing import Protocol

from propagation.arrays import F64
from propagation.errors import PropagationError
from propagation.laboratory.history import History, Questions


class MethodNotInstalled(PropagationError):
    """The packages of a method are missing."""


class MethodFailed(PropagationError):
    """A method ended with an error, or its scores cannot be used."""


class Method(Protocol):
    """Learns a history, and then scores candidates."""

    @property
    def name(self) -> str:
        """The name in tables and files of results."""

    @property
    def version(self) -> str:
        """What else decides the scores, such as settings.

        Results of another version are stale.
        """

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        """Learn a history and score the candidates of each question.

        Nothing of an earlier call is used.

        Args:
            seed: Decides every random choice.

        Returns:
            [Q,C] finite scores; a higher one is better, and equal ones share their ranks.

        Raises:
            MethodNotInstalled: The method's packages are missing.
            MethodFailed: The method ended with an error.
        """
