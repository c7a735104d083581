"""Asks a user agent whether it has a preference.

Source:
    AgentCF 4.4.3 (spread of a preference). Its prompt is in an appendix that is not at hand.
"""

from collections.abc import Mapping
from typing import Any

from propagation.adapters.openai.prompting import (
    Answer,
    ExpectedPart,
    Prompt,
    Question,
    TextCheck,
    Words,
)
from propagation.laboratory.agentcf.prompts.review import DECISIONS
from propagation.laboratory.agentcf.prompts.shared import RULES

PROMPT = Prompt(
    "agentcf-express@1",
    f"""{RULES}
`person` introduces himself or herself. Does the person have this preference, by what the introduction says? Do not guess: a
preference that it does not speak of is one that the person does not have. `has_it`: yes or no. `explanation`: at most 40 words.""",
)


class Expressed(Answer, stands_for="has_it"):
    """Whether a person has a preference, and why."""

    has_it: str
    explanation: Words = ""


def build_question(person: Mapping[str, Any], preference: str) -> Question:
    """Ask whether a user has a preference, as the only part `expressed`."""
    part = ExpectedPart(Expressed, read_expressed, choices={"has_it": DECISIONS})
    return Question(PROMPT, {"person": person, "preference": preference}, {"expressed": part})


def read_expressed(answer: Expressed, check: TextCheck) -> bool:
    """Return whether the person has the preference.

    Raises:
        ValueError: The answer is neither yes nor no.
    """
    word = answer.has_it.strip().casefold().rstrip(".!")
    if word not in DECISIONS:
        raise ValueError(f"has_it is {word[:20]!r}; it must be yes or no")
    return word == "yes"
