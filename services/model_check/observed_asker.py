"""Asks questions, and notes how their answers were read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from propagation.adapters.openai.answers.questions import Answered, QuestionAsker
from propagation.adapters.openai.endpoint.endpoint import Endpoint
from propagation.adapters.openai.prompting import ExpectedPart, Question, TextCheck
from propagation.adapters.openai.prompting.degenerate_text import DegenerateText
from propagation.model import NO_USAGE, LossReason, ReasonerFailed, Usage
from propagation.ports import GraphStore


@dataclass(frozen=True)
class Reading:
    """One reading of a part.

    Attributes:
        answer: The part in its type.
        refused: Why its texts and names were refused.
        failed: Whether nothing of it can be used.
    """

    answer: Any
    refused: tuple[LossReason, ...] = ()
    failed: bool = False

    @property
    def accepted(self) -> bool:
        """Whether the part is used as it is."""
        return not (self.refused or self.failed)


@dataclass
class AskedQuestion:
    """A question with the readings of its parts, and what it cost.

    A part that never had the form of its type has no readings.
    """

    question: Question
    readings: Mapping[str, list[Reading]]
    usage: Usage = NO_USAGE

    def is_accepted(self, name: str) -> bool:
        """Whether a part was accepted, if only the second time."""
        return any(reading.accepted for reading in self.readings[name])


@dataclass
class Observations:
    """The questions that were answered or given up.

    Attributes:
        last_failure: Why the last question without any usable part was given up.
    """

    questions: list[AskedQuestion] = field(default_factory=list)
    last_failure: str = ""


class ObservedAsker(QuestionAsker):
    """Asks as the service does, and notes what it reads."""

    def __init__(self, endpoint: Endpoint, store: GraphStore) -> None:
        super().__init__(endpoint, store)
        self.observations = Observations()

    async def ask(self, question: Question) -> Answered:
        """Ask a question; see QuestionAsker."""
        asked = AskedQuestion(question, {name: [] for name in question.parts})
        parts = {
            name: _observe(part, asked.readings[name]) for name, part in question.parts.items()
        }
        try:
            answered = await super().ask(replace(question, parts=parts))
        except ReasonerFailed as error:
            asked.usage = error.usage
            self.observations.last_failure = str(error)
            raise
        else:
            asked.usage = answered.usage
            return answered
        finally:
            self.observations.questions.append(asked)


def _observe(part: ExpectedPart, readings: list[Reading]) -> ExpectedPart:
    """Return a part that is read as before, and noted."""

    def read(answer: Any, check: TextCheck) -> object:
        try:
            found = part.read(answer, check)
        except DegenerateText as error:
            readings.append(Reading(answer, (*check.reasons, error.reason), failed=True))
            raise
        except ValueError:
            readings.append(Reading(answer, tuple(check.reasons), failed=True))
            raise
        readings.append(Reading(answer, tuple(check.reasons)))
        return found

    return replace(part, read=read)
