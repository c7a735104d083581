"""Prompt_extract (eq. 1): a client's own text as lines with their attributes."""

import re
from collections.abc import Collection, Sequence
from functools import partial
from typing import Annotated

from propagation.adapters.openai.prompting import (
    RULES,
    Answer,
    ExpectedPart,
    Names,
    Prompt,
    Question,
    Several,
    TextCheck,
    describe_own_text,
    limit_attributes,
    limit_length,
    limit_words,
)
from propagation.model import LINE_MAX_WORDS, AddLine, Author, Client, Edit, Line

LINES, WEIGHT = 2, 2.0
TITLE_CHARS = 4  # shorter titles stand in any text
PROMPT = Prompt(
    "extract@2",
    RULES
    + """
Each client in the data is an item of a catalogue or a user, with what is said of it. Write its first profile as `lines`, one or
two. `text`: at most 25 words on what it is (an item: begin with its title) and whom it may please. `attributes`: 1 to 4 short
names, in lower case, of the concepts in the text (style, subject, mood, maker). Say nothing that the data does not say or plainly
imply.""",
)


class CatalogueLine(Answer, stands_for="text"):
    """A line from a client's own text, with its attributes."""

    text: str
    attributes: Names


class ProfileAnswer(Answer, stands_for="lines"):
    """A client's lines."""

    lines: Annotated[Several[CatalogueLine], limit_length(LINES, least=1)]


def build_question(clients: Sequence[Client]) -> Question:
    """Ask for one part for each client, in order: client_1, client_2, ..."""
    titles = {client.title for client in clients if len(client.title) >= TITLE_CHARS}
    return Question(
        PROMPT,
        {f"client_{place}": describe_own_text(client) for place, client in enumerate(clients, 1)},
        {
            f"client_{place}": ExpectedPart(
                ProfileAnswer, partial(build_edits, client.title, titles - {client.title})
            )
            for place, client in enumerate(clients, 1)
        },
    )


def build_edits(
    title: str, others: Collection[str], answer: ProfileAnswer, check: TextCheck
) -> Sequence[Edit]:
    """Turn the answer into new catalogue lines.

    A line that names another client of the call and not its own is refused: small models take one
    item for another.

    Args:
        title: The client's own title.
        others: Titles of the other clients in the call.

    Returns:
        The lines; none if all are refused.

    Raises:
        ValueError: The answer has no line with a text.
    """
    given = [line for line in answer.lines if line.text.strip()][:LINES]
    if not given:
        raise ValueError("lines is empty: write at least one")
    lines = []
    for line in given:
        if title not in line.text and (other := _find_title(line.text, others)):
            check.refuse(f"a line is about {other!r}")
        elif check.keep_text(line.text):
            lines.append(line)
    return [
        AddLine(
            line=Line(
                id=0,
                text=limit_words(line.text, LINE_MAX_WORDS),
                attributes=limit_attributes(check.keep_names(line.attributes)),
                weight=WEIGHT,
                author=Author.CATALOGUE,
            )
        )
        for line in lines
    ]


def _find_title(text: str, titles: Collection[str]) -> str | None:
    """Return a title that stands in a text as whole words."""
    return next(
        (title for title in sorted(titles) if re.search(rf"(?<!\w){re.escape(title)}(?!\w)", text)),
        None,
    )
