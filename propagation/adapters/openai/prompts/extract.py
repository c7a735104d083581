"""Prompt_extract (eq. 1): a client's own text as lines with their attributes."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Annotated

from propagation.adapters.openai.prompting import (
    NAME_CHARS,
    RULES,
    TEXT_CHARS,
    TITLE_CHARS,
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
    quote_as_data,
    trim_to_word,
)
from propagation.model import (
    LINE_MAX_WORDS,
    AddLine,
    Author,
    Client,
    ClientKind,
    Edit,
    Line,
    LossReason,
)

LINES, WEIGHT = 2, 2.0
SHORTEST_TITLE = 4
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
    titles = {client.ref: _find_main_title(client) for client in clients}
    return Question(
        PROMPT,
        {f"client_{place}": describe_own_text(client) for place, client in enumerate(clients, 1)},
        {
            f"client_{place}": ExpectedPart(
                ProfileAnswer,
                partial(build_edits, titles[client.ref], _list_others(client.ref, titles)),
            )
            for place, client in enumerate(clients, 1)
        },
    )


def build_edits(
    title: str, others: Collection[str], answer: ProfileAnswer, check: TextCheck
) -> Sequence[Edit]:
    """Turn the answer into new catalogue lines.

    A line of an item that names another item of the call and not this one is refused: small models
    take one item for another.

    Args:
        title: The item's own title, without what stands in brackets; "" for a user.
        others: Titles of other items in the call.

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
        named = [other for other in others if _names(line.text, other)]
        if named and not _names(line.text, title):
            check.refuse(LossReason.OTHER_ITEM, f"a line is about {named[0]!r}, another item")
        elif check.keep_text(line.text):
            lines.append(line)
    return [
        AddLine(
            line=Line(
                id=0,
                text=limit_words(trim_to_word(line.text, TEXT_CHARS), LINE_MAX_WORDS),
                attributes=limit_attributes(
                    trim_to_word(name, NAME_CHARS) for name in check.keep_names(line.attributes)
                ),
                weight=WEIGHT,
                author=Author.CATALOGUE,
            )
        )
        for line in lines
    ]


def _find_main_title(client: Client) -> str:
    """Return an item's title without brackets; "" for a user.

    It is the title that the prompt shows.
    """
    if client.key.kind is not ClientKind.ITEM:
        return ""
    return quote_as_data(client.title, TITLE_CHARS).partition("(")[0].strip(" ,:;-")


def _list_others(ref: int, titles: Mapping[int, str]) -> list[str]:
    """List titles of other items that stand in no text by chance.

    Titles of fewer than SHORTEST_TITLE characters are left out, because any text may contain them.
    For a user there are none, because a user may name any item.
    """
    own = titles[ref]
    return sorted(
        title
        for other, title in titles.items()
        if own and other != ref and len(title) >= SHORTEST_TITLE and title not in own
    )


def _names(text: str, title: str) -> bool:
    """Return whether a text has a title as whole words."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(title)}(?![A-Za-z0-9])", text) is not None
