"""The autonomous interaction: a user agent chooses one of two items.

Source:
    AgentCF, section 3.2.2; `system_prompt_template` of the published code.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from propagation.adapters.openai.prompting import (
    Answer,
    ExpectedPart,
    Number,
    Prompt,
    Question,
    TextCheck,
    Words,
    limit_chars,
)
from propagation.laboratory.agentcf.prompts.shared import EXPLANATION_CHARS, RULES, read_text

PROMPT = Prompt(
    "agentcf-choose@1",
    RULES
    + """
`user` is a person who considers two items. Select the one that agrees best with the person's preferences and dislikes.
`choice`: 1 for first_item, 2 for second_item. `explanation`: in at most 60 words, why it is chosen and the other one is not, by how
the preferences and dislikes relate to the features of the two. Do not invent preferences: where the person states none that
matter, use common knowledge, such as how popular the items are.""",
)


class Choice(Answer, stands_for="choice"):
    """The number of the chosen item (1 or 2), and the reason."""

    choice: Number
    explanation: Words = limit_chars(EXPLANATION_CHARS)


class Chosen(NamedTuple):
    """A choice that was read."""

    first: bool
    explanation: str


def build_question(
    user: Mapping[str, Any], first: Mapping[str, Any], second: Mapping[str, Any]
) -> Question:
    """Ask which item the user chooses, as the only part `selection`."""
    return Question(
        PROMPT,
        {"user": user, "first_item": first, "second_item": second},
        {"selection": ExpectedPart(Choice, read_choice, choices={"choice": (1, 2)})},
    )


def read_choice(answer: Choice, check: TextCheck) -> Chosen:
    """Return the choice.

    Raises:
        ValueError: It names neither item, or explains nothing.
    """
    if answer.choice not in (1, 2):
        raise ValueError(f"choice is {answer.choice}; the items are 1 and 2")
    return Chosen(answer.choice == 1, read_text(answer.explanation, EXPLANATION_CHARS, check))
