"""Prompt_extract (eq. 1): a client's own text as lines with their attributes."""

from collections.abc import Sequence
from typing import Annotated

from propagation.adapters.openai.prompting import (
    RULES,
    Answer,
    ExpectedPart,
    Names,
    Prompt,
    Question,
    Several,
    describe_own_text,
    limit_attributes,
    limit_length,
    limit_words,
)
from propagation.model import LINE_MAX_WORDS, AddLine, Author, Client, Edit, Line

LINES, WEIGHT = 2, 2.0
TOKENS_A_CLIENT = 150
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
    return Question(
        PROMPT,
        {f"client_{place}": describe_own_text(client) for place, client in enumerate(clients, 1)},
        {
            f"client_{place}": ExpectedPart(ProfileAnswer, build_edits)
            for place, _ in enumerate(clients, 1)
        },
        TOKENS_A_CLIENT * len(clients) + 50,
    )


def build_edits(answer: ProfileAnswer) -> Sequence[Edit]:
    """Turn the answer into new catalogue lines.

    Raises:
        ValueError: The answer has no line with a text.
    """
    lines = [line for line in answer.lines if line.text.strip()][:LINES]
    if not lines:
        raise ValueError("lines is empty: write at least one")
    return [
        AddLine(
            line=Line(
                id=0,
                text=limit_words(line.text, LINE_MAX_WORDS),
                attributes=limit_attributes(line.attributes),
                weight=WEIGHT,
                author=Author.CATALOGUE,
            )
        )
        for line in lines
    ]
