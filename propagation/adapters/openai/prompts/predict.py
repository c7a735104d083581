"""Prompt_predict (eq. 6): which of two candidates would the user choose?

A candidate is known by its number only.
"""

from propagation.adapters.openai.prompting import (
    RULES,
    USUAL_FORM,
    Answer,
    ExpectedPart,
    Number,
    Prompt,
    Question,
    QuestionForm,
    TextCheck,
    Words,
    show_party,
)
from propagation.ports import Party

HOW = """`prediction`: which of the two candidates the user would choose next, by the profiles. `choice`: 1 for
candidate_1, 2 for candidate_2. Their order says nothing. `why`: at most 25 words on what speaks for it.
"""
PROMPT = Prompt("predict@3", RULES + "\n" + HOW)


class Choice(Answer, stands_for="choice"):
    """The number of the chosen candidate (1 or 2), and the reason."""

    choice: Number
    why: Words = ""


def build_question(
    user: Party, first: Party, second: Party, form: QuestionForm = USUAL_FORM
) -> Question:
    """Ask which item the user would choose, as the only part `prediction`."""
    return Question(
        PROMPT,
        {
            "user": show_party(user),
            "candidate_1": show_party(first, whole=True, titles=form.titles),
            "candidate_2": show_party(second, whole=True, titles=form.titles),
        },
        {"prediction": CHOICE},
    )


def read_prediction(answer: Choice, check: TextCheck) -> bool:
    """Return whether the user would choose the first candidate.

    Raises:
        ValueError: The answer names neither candidate.
    """
    if answer.choice not in (1, 2):
        raise ValueError(f"choice is {answer.choice}; the candidates are 1 and 2")
    return answer.choice == 1


CHOICE = ExpectedPart(Choice, read_prediction, choices={"choice": (1, 2)})
