"""Questions of propagation from client to client.

Source:
    RecNet 3.4.4 names them (LR and LS) and prints none; the prompts are this project's.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from propagation.adapters.openai.prompting import (
    MESSAGE_CHARS,
    RULES,
    Answer,
    ExpectedPart,
    Number,
    Prompt,
    Question,
    TextCheck,
    drop_none,
    limit_chars,
    limit_words,
    show_party,
    to_list,
)
from propagation.ports import Party

LINES = 4
"""Of each other client; the changed one is shown whole."""
SUMMARY_WORDS = 60
DATA = """
`changed` is a client whose profile has just changed by an interaction. """
SELECT = Prompt(
    "select_receivers@1",
    RULES
    + DATA
    + """`may_hear`: other clients by number; their order says nothing.
Which of them does the change concern most, by their taste (a user) or their audience (an item)?
`chosen`: as many of their numbers as `choose` says, each once.""",
)
SUMMARIZE = Prompt(
    "write_to_clients@1",
    RULES
    + DATA
    + """`will_hear`: the clients who will hear of it.
`text`: 20 to 60 words to them on what of its taste (a user) or its audience (an item) concerns
them, the newest first. Speak of tastes and items, never of single users; say nothing that the data
does not say.""",
)


class Chosen(Answer, stands_for="chosen"):
    """The numbers of the selected clients."""

    chosen: Annotated[list[Number], BeforeValidator(to_list), Field(default_factory=list)]


class Letter(Answer, stands_for="text"):
    """A text to clients."""

    text: Annotated[str, limit_chars(MESSAGE_CHARS)]


def ask_to_select(sender: Party, nearest: Sequence[Party], count: int) -> Question:
    """Ask for `count` of the nearest clients, as the only part `receivers`."""
    numbers = range(1, len(nearest) + 1)

    def read(answer: Chosen, check: TextCheck) -> list[int]:
        """Return their places from 0, ascending."""
        if len(answer.chosen) != count or len({*answer.chosen} & {*numbers}) != count:
            raise ValueError(f"chosen must hold {count} different numbers up to {len(nearest)}")
        return sorted(number - 1 for number in answer.chosen)

    return Question(
        SELECT,
        {"changed": _show(sender), "choose": count, "may_hear": _number(nearest)},
        {
            "receivers": ExpectedPart(
                Chosen, read, choices={"chosen": numbers}, lengths={"chosen": (count, count)}
            )
        },
    )


def ask_to_summarize(sender: Party, receivers: Sequence[Party]) -> Question:
    """Ask for a text to the receivers, as the only part `letter`."""

    def read(answer: Letter, check: TextCheck) -> str:
        text = limit_words(answer.text, SUMMARY_WORDS)
        if not text:
            raise ValueError("text is empty")
        return check.require_text(text)

    return Question(
        SUMMARIZE,
        {"changed": _show(sender), "will_hear": _number(receivers)},
        {"letter": ExpectedPart(Letter, read)},
    )


def _number(parties: Sequence[Party]) -> Mapping[str, Any]:
    return {str(place): _show(party, LINES) for place, party in enumerate(parties, 1)}


def _show(party: Party, lines: int | None = None) -> dict[str, Any]:
    """Show a client with some lines, but no user's name.

    Args:
        lines: How many, from the first; None: all.
    """
    shown = show_party(party)
    profile = list(islice(shown["profile"].values(), lines))
    return drop_none(
        kind=party.client.key.kind.name.lower(), title=shown.get("title"), profile=profile
    )
