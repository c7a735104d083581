"""Asks the model, and counts questions and unusable answers."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from propagation.adapters.openai.prompting import Question
from propagation.laboratory.methods.asking import Ask
from propagation.laboratory.methods.asking.answers import ask_for_part


@dataclass
class Asked:
    """The questions of one run.

    Attributes:
        calls: How many questions were answered, by prompt. One that the adapter asked once more
            because its answer was unusable counts once.
        invalid: How many of them had no usable answer.
    """

    ask: Ask
    calls: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)

    async def get(self, question: Question) -> Any:
        """Return the only part of an answer; None if it is unusable.

        Raises:
            ReasonerUnavailable: The endpoint answers no call now.
        """
        [name] = question.parts
        part = await ask_for_part(self.ask, question, name)
        self.calls[question.prompt.label] += 1
        self.invalid[question.prompt.label] += part is None
        return part
