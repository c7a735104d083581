"""The part of a run in which a question is asked."""

from contextvars import ContextVar
from typing import NamedTuple


class RunPart(NamedTuple):
    """A method with a seed.

    Attributes:
        answers_version: A digest of what decides the method's questions and their answers.
    """

    method: str
    seed: int
    answers_version: str


current_part: ContextVar[RunPart | None] = ContextVar("current_part", default=None)
"""Set by the run for all that a method does with a seed.

Methods and reasoners ask through several layers, which know nothing of runs.
"""
