"""The port of methods that ask a language model."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol, TypeGuard

from propagation.adapters.openai.answers.questions import Answered
from propagation.adapters.openai.prompting import Question
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import Method

Ask = Callable[[Question], Awaitable[Answered]]
"""Asks a question through the service's adapter.

The adapter keeps the budget and the limits, asks once more for unusable parts, and caches answers.
"""


class Calls(NamedTuple):
    """About how many calls a method will make with one prompt.

    Attributes:
        label: Of the prompt.
        prompt_tokens: In all calls together; likewise answer_tokens.
    """

    label: str
    calls: int
    prompt_tokens: int
    answer_tokens: int


class AskingMethod(Method, Protocol):
    """A method that asks a language model.

    `score` gives a row of NaN where no answer is usable, also after it was asked for once more.
    Protocols count such rows as invalid.
    """

    def estimate(self, history: History, questions: Questions) -> Sequence[Calls]:
        """Estimate what `score` will ask, by prompt."""


def asks_model(method: Method) -> TypeGuard[AskingMethod]:
    """Return whether a method asks a language model."""
    return hasattr(method, "estimate")
