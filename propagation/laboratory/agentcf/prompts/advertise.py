"""Advertisements: drafted, criticised by three advertisers, revised, and chosen.

Source:
    AgentCF 4.4.4 (collaborative advertisements). Its prompts are in an appendix that is not at
    hand.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

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


class Aspect(StrEnum):
    """What an advertiser is good at."""

    PERSONALIZATION = "personalization"
    CREATIVITY = "creativity"
    ATTRACTIVENESS = "attractiveness"


ADVERTISERS: Mapping[Aspect, str] = {
    Aspect.PERSONALIZATION: "speaking to the very people whom an item suits",
    Aspect.CREATIVITY: "unusual ideas and fresh words",
    Aspect.ATTRACTIVENESS: "making people want an item",
}
LIMIT = "`advertisement`: at most 60 words. Promise nothing that the item is not."
DRAFT = Prompt("agentcf-draft@1", f"{RULES}\nWrite an advertisement for advertised_item. {LIMIT}")
CRITIQUE_PROMPTS = {
    aspect: Prompt(
        f"agentcf-{aspect}@1",
        f"""{RULES}
You are an advertiser, whose strength is {strength}. By this aspect alone, say what is weak in draft, an advertisement for advertised_item,
and suggest how to do better. `critique`: at most 60 words.""",
    )
    for aspect, strength in ADVERTISERS.items()
}
REVISE = Prompt(
    "agentcf-revise@1",
    f"""{RULES}
`draft` is an advertisement for advertised_item, and `critiques` is what advertisers say of it, each by one aspect. Write it anew, and follow
their suggestions. {LIMIT}""",
)
CHOOSE = Prompt(
    "agentcf-choose-advertisement@1",
    f"""{RULES}
`person` sees two advertisements for one item. Which one makes this person rather want the item? Their order says nothing.
`choice`: 1 for first_advertisement, 2 for second_advertisement. `explanation`: at most 40 words.""",
)


class Advertisement(Answer, stands_for="advertisement"):
    """The text of an advertisement."""

    advertisement: Words = limit_chars(EXPLANATION_CHARS)


class Critique(Answer, stands_for="critique"):
    """What is weak in a draft, and how to do better."""

    critique: Words = limit_chars(EXPLANATION_CHARS)


class Preferred(Answer, stands_for="choice"):
    """The number of the preferred advertisement (1 or 2), and why."""

    choice: Number
    explanation: Words = ""


ADVERTISEMENT = ExpectedPart(
    Advertisement,
    lambda answer, check: read_text(answer.advertisement, EXPLANATION_CHARS, check),
)
CRITIQUE = ExpectedPart(
    Critique, lambda answer, check: read_text(answer.critique, EXPLANATION_CHARS, check)
)


def build_draft_question(item: Mapping[str, Any]) -> Question:
    """Ask for an advertisement, as the only part `drafted`."""
    return Question(DRAFT, {"advertised_item": item}, {"drafted": ADVERTISEMENT})


def build_critique_question(aspect: Aspect, item: Mapping[str, Any], draft: str) -> Question:
    """Ask one advertiser for a critique, as the only part `criticised`."""
    data = {"advertised_item": item, "draft": draft}
    return Question(CRITIQUE_PROMPTS[aspect], data, {"criticised": CRITIQUE})


def build_revision_question(
    item: Mapping[str, Any], draft: str, critiques: Mapping[Aspect, str]
) -> Question:
    """Ask for a better advertisement, as the only part `revised`."""
    said = {str(aspect): text for aspect, text in critiques.items()}
    data = {"advertised_item": item, "draft": draft, "critiques": said}
    return Question(REVISE, data, {"revised": ADVERTISEMENT})


def build_choice_question(person: Mapping[str, Any], first: str, second: str) -> Question:
    """Ask which advertisement a user prefers, as the only part `preferred`."""
    data = {"person": person, "first_advertisement": first, "second_advertisement": second}
    part = ExpectedPart(Preferred, read_preferred, choices={"choice": (1, 2)})
    return Question(CHOOSE, data, {"preferred": part})


def read_preferred(answer: Preferred, check: TextCheck) -> bool:
    """Return whether the first one is preferred.

    Raises:
        ValueError: The answer names neither.
    """
    if answer.choice not in (1, 2):
        raise ValueError(f"choice is {answer.choice}; the advertisements are 1 and 2")
    return answer.choice == 1
