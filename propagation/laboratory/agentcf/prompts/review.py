"""Reviews: one user agent writes them, and another decides by them.

Source:
    AgentCF 4.4.1 (user-user interaction). Its prompts are in an appendix that is not at hand.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from propagation.adapters.openai.prompting import (
    Answer,
    ExpectedPart,
    Prompt,
    Question,
    TextCheck,
    Words,
    drop_none,
    limit_chars,
)
from propagation.laboratory.agentcf.prompts.shared import EXPLANATION_CHARS, RULES, read_text

DECISIONS = ("yes", "no")


class Stance(StrEnum):
    """What a review speaks of."""

    PRAISE = "praise"
    CRITICISM = "criticism"


ASKED_FOR: Mapping[Stance, str] = {
    Stance.PRAISE: "a positive review: what the reviewer likes about it",
    Stance.CRITICISM: "a negative review: what disappointed the reviewer about it",
}
REVIEW_PROMPTS = {
    stance: Prompt(
        f"agentcf-{stance}@1",
        f"""{RULES}
`reviewer` is a person who has reviewed_item. Write {asked}, by how its features relate to the reviewer's preferences and dislikes.
`review`: at most 60 words, in the first person.""",
    )
    for stance, asked in ASKED_FOR.items()
}
DECIDE = Prompt(
    "agentcf-decide@1",
    f"""{RULES}
`person` comes upon offered_item, which is new to the person. If there is a review, the person reads it, and knows how its writer
introduces himself or herself. Decide as this person would: does the person take the item? `takes`: yes or no. `explanation`: at
most 40 words.""",
)


class Review(Answer, stands_for="review"):
    """A review's text."""

    review: Words = limit_chars(EXPLANATION_CHARS)


class Decision(Answer, stands_for="takes"):
    """Whether an item is taken, and why."""

    takes: str
    explanation: Words = ""


def build_review_question(
    stance: Stance, reviewer: Mapping[str, Any], item: Mapping[str, Any]
) -> Question:
    """Ask for a review, as the only part `written`."""
    part = ExpectedPart(
        Review, lambda answer, check: read_text(answer.review, EXPLANATION_CHARS, check)
    )
    data = {"reviewer": reviewer, "reviewed_item": item}
    return Question(REVIEW_PROMPTS[stance], data, {"written": part})


def build_decision_question(
    person: Mapping[str, Any],
    item: Mapping[str, Any],
    review: str | None = None,
    writer: Mapping[str, Any] | None = None,
) -> Question:
    """Ask whether a user takes an item, as the only part `decided`."""
    part = ExpectedPart(Decision, read_decision, choices={"takes": DECISIONS})
    data = drop_none(person=person, offered_item=item, review=review, review_by=writer)
    return Question(DECIDE, data, {"decided": part})


def read_decision(answer: Decision, check: TextCheck) -> bool:
    """Return whether the item is taken.

    Raises:
        ValueError: The answer is neither yes nor no.
    """
    word = answer.takes.strip().casefold().rstrip(".!")
    if word not in DECISIONS:
        raise ValueError(f"takes is {word[:20]!r}; it must be yes or no")
    return word == "yes"
