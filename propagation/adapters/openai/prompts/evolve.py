"""Prompt_optimizer of routers (eq. 9): split, merge, rewrite or keep.

A call is about one router.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from propagation.adapters.openai.prompting import (
    MESSAGE_CHARS,
    RULES,
    Answer,
    ExpectedPart,
    Prompt,
    Question,
    Several,
    TextCheck,
    Words,
    drop_none,
    limit_length,
    limit_words,
    quote_as_data,
    show_counts,
)
from propagation.adapters.openai.prompts.summarize import NAME_WORDS, TEXT_WORDS, Router
from propagation.model import EvolutionKind, RouterCase, RouterDecision

GRADIENTS, NAMES = 20, 8
REASON_WORDS = 25
TEXTS = {"keep": 0, "split": 2, "merge": 1, "rewrite": 1}
PROMPT = Prompt(
    "evolve@3",
    RULES
    + """
The router in the data speaks for a community of users and items. `says` is its message; `helped` and `misled` count the readers for
whom it did or did not speak of what they chose; `gradients` are what they ask of it; `chose` counts what they chose. Where given,
`halves` are its two groups of users, each one's share and what it chose; `nearest` is the message of the router most like it, and
`likeness` (at most 1) how much the same is adopted through both. `missing` is how many routers there are too few for the
communities that choices tell apart; below 0, too many; 0, no change is needed. Decide its `kind`:
- split, where the halves want different things and `missing` is above 0;
- merge, where both routers hold one community and `missing` is below 0;
- rewrite, where its message misleads and should speak of what readers chose;
- keep, else.
Give a `reason` of at most 25 words, and `routers`: two for split, in the order of the halves; one for merge or rewrite; none for
keep. Each has a `name`, at most 6 words, and a `text`, 40 to 60 words to its members. Speak of tastes and items, never of single
users.""",
)


class Decision(Answer):
    """A model's decision on a router."""

    kind: Annotated[
        Literal["keep", "split", "merge", "rewrite"],
        BeforeValidator(lambda value: str(value).strip().lower()),
    ]
    reason: Words = ""
    routers: Annotated[Several[Router], limit_length(max(TEXTS.values()))]


def build_question(case: RouterCase) -> Question:
    """Ask for a decision on a router, as the only part `decision`."""
    return Question(
        PROMPT,
        {"router": _show(case)},
        {
            "decision": ExpectedPart(
                Decision,
                lambda answer, check: read_decision(answer, case, check),
                choices={"kind": list_kinds(case)},
            )
        },
    )


def list_kinds(case: RouterCase) -> list[str]:
    """Return the kinds of decision that are possible for a router."""
    possible = {"keep": True, "split": case.halves, "merge": case.nearest, "rewrite": True}
    return [kind for kind, given in possible.items() if given]


def read_decision(answer: Decision, case: RouterCase, check: TextCheck) -> RouterDecision:
    """Turn the answer into a decision about a router.

    Raises:
        ValueError: The decision cannot be carried out.
    """
    if answer.kind == "keep":
        return RouterDecision(None, limit_words(answer.reason, REASON_WORDS))
    if answer.kind == "split" and case.halves is None:
        raise ValueError("kind is split, but this router has no halves")
    if answer.kind == "merge" and case.nearest is None:
        raise ValueError("kind is merge, but there is no router to merge this one with")
    texts = tuple(
        (
            check.require_text(limit_words(one.name, NAME_WORDS)),
            check.require_text(limit_words(one.text, TEXT_WORDS)),
        )
        for one in answer.routers
    )
    if len(texts) != TEXTS[answer.kind] or not all(name and text for name, text in texts):
        raise ValueError(
            f"routers must hold {TEXTS[answer.kind]} for {answer.kind}, each with a name and a text"
        )
    return RouterDecision(
        EvolutionKind(answer.kind), limit_words(answer.reason, REASON_WORDS), texts, PROMPT.label
    )


def _show(case: RouterCase) -> dict[str, Any]:
    halves = [
        {"share": round(half.share, 2), "chose": show_counts(half.choices, NAMES)}
        for half in case.halves or ()
    ]
    return drop_none(
        says=quote_as_data(case.router.text, MESSAGE_CHARS),
        helped=case.praised,
        misled=case.blamed,
        gradients=[quote_as_data(one.text, MESSAGE_CHARS) for one in case.gradients[:GRADIENTS]],
        chose=show_counts(case.choices, NAMES),
        missing=case.missing,
        halves=halves or None,
        nearest=quote_as_data(case.nearest.text, MESSAGE_CHARS) if case.nearest else None,
        likeness=round(case.similarity, 2) if case.nearest else None,
    )
