"""The port of all methods."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol, TypeGuard, runtime_checkable

from propagation.arrays import F64, I64
from propagation.errors import PropagationError
from propagation.laboratory.history import History, Questions
from propagation.model import Term


class MethodNotInstalled(PropagationError):
    """The packages of a method are missing."""


class MethodFailed(PropagationError):
    """A method ended with an error, or its scores cannot be used."""


Dependencies = Mapping[str, str]
"""What decides a method's results beside the data, the seed and this program's own version.

By name: the versions of packages that compute the scores, settings, the model, digests of prompts
and files. Results with other dependencies are stale, and a run makes them again.
"""

NOTHING_ELSE: Dependencies = {}


class Method(Protocol):
    """Learns a history, and then scores candidates."""

    @property
    def name(self) -> str:
        """The name in tables and files of results."""

    @property
    def depends_on(self) -> Dependencies:
        """What its results depend on; see `Dependencies`.

        Raises:
            MethodNotInstalled: The method's packages are missing.
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


LiveScores = AsyncGenerator[F64, None]
"""[C] scores of one question after another."""


class LiveMethod(Method, Protocol):
    """A method that learns event by event, and can answer between events."""

    def follow(self, history: History, questions: Questions, known: I64, seed: int) -> LiveScores:
        """Learn event by event, and score each question at its moment.

        Args:
            known: [Q] how many of the history's earliest interactions are known at each question,
                ascending. Later ones have no influence on its scores.

        Yields:
            [C] scores as `score` returns them, of one question after another.

        Raises:
            MethodFailed: The method ended with an error.
        """


def is_live(method: Method) -> TypeGuard[LiveMethod]:
    """Return whether a method learns event by event."""
    return hasattr(method, "follow")  # isinstance would also ask what the method depends on


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
