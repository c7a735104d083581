"""The port of all methods."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Protocol, runtime_checkable

from propagation.arrays import F64
from propagation.errors import PropagationError
from propagation.laboratory.history import History, Questions
from propagation.model import Term


class MethodNotInstalled(PropagationError):
    """The packages of a method are missing."""


class MethodFailed(PropagationError):
    """A method ended with an error, or its scores cannot be used."""


def build_version(deciding: str) -> str:
    """Return the version of a method, from all that decides its scores."""
    return blake2b(deciding.encode(), digest_size=16).hexdigest()


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


class Measured(Term):
    """What a method measured of itself, beside its scores.

    Attributes:
        counts: By name, such as "rounds"; seconds are named "... seconds".
        series: Values over the time of learning, by name.
        settings: The settings that decide the scores, in words or as JSON.
        remark: What a reader of the figures must know of this method, in a sentence.
    """

    counts: Mapping[str, float] = {}
    series: Mapping[str, Sequence[float]] = {}
    settings: str = ""
    remark: str = ""


@runtime_checkable
class MeasuringMethod(Method, Protocol):
    """A method that measures more than its scores."""

    def get_measured(self, seed: int) -> Measured:
        """Return what the last call of `score` with this seed measured."""


def get_measured(method: Method, seed: int) -> Measured:
    """Return what a method measured of itself, if it does."""
    return method.get_measured(seed) if isinstance(method, MeasuringMethod) else Measured()
