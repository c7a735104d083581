"""Prompt_predict (eq. 6): which of two candidates would the user choose?

A candidate is known by its number only.
"""

from typing import Annotated

from propagation.adapters.openai.prompting import (
    RULES,
    Answer,
    ExpectedPart,
    Number,
    Prompt,
    Question,
    Words,
    limit_chars,
    show_party,
)
from propagation.ports import Party

TOKENS, WHY_CHARS = 200, 600
HOW = """`prediction`: which of the two candidates the user would choose next, by the profiles. First `why`, 40 to 60 words that
weigh what speaks for each; then `choice`: 1 for candidate_1, 2 for candidate_2. Their order says nothing.
"""
PROMPT = Prompt("predict@2", RULES + "\n" + HOW)


class Choice(Answer, stands_for="choice"):
    """The number of the chosen candidate (1 or 2), and the reason."""

    why: Annotated[Words, limit_chars(WHY_CHARS)] = ""
    choice: Number


def build_question(user: Party, first: Party, second: Party) -> Question:
    """Ask which item the user would choose, as the only part `prediction`."""
    return Question(
        PROMPT,
        {
            "user": show_party(user),
            "candidate_1": show_party(first, whole=True),
            "candidate_2": show_party(second, whole=True),
        },
        {"prediction": CHOICE},
        TOKENS,
    )


def read_prediction(answer: Choice) -> bool:
    """Return whether the user would choose the first candidate.

    Raises:
        ValueError: The answer names neither candidate.
    """
    if answer.choice not in (1, 2):
        raise ValueError(f"choice is {answer.choice}; the candidates are 1 and 2")
    return answer.choice == 1


CHOICE = ExpectedPart(Choice, read_prediction)
