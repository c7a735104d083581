"""Prompt_extract (eq. 1): a client's own text as lines with their attributes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Annotated

from propagation.adapters.openai.prompting import (
    NAME_CHARS,
    RULES,
    SHORTEST_TITLE,
    TEXT_CHARS,
    TITLE_CHARS,
    USUAL_FORM,
    Answer,
    ExpectedPart,
    Names,
    Prompt,
    Question,
    QuestionForm,
    Several,
    TextCheck,
    describe_own_text,
    find_main_title,
    find_named_title,
    is_bare_title,
    is_same_text,
    limit_attributes,
    limit_length,
    limit_words,
    list_known_names,
    narrow_attributes,
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
PROMPT = Prompt(
    "extract@2",
    RULES
    + """
Each client in the data is an item of a catalogue or a user, with what is said of it. Write its first profile as `lines`, at
most two. `text`: at most 25 words on what it is (an item: begin with its title) and whom it may please. `attributes`: 1 to 4 short
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


def build_question(clients: Sequence[Client], form: QuestionForm = USUAL_FORM) -> Question:
    """Ask for one part for each client, in order: client_1, client_2, ..."""
    titles = {client.ref: _show_own_title(client) for client in clients}
    said: dict[str, Client] = {}
    return Question(
        PROMPT,
        {f"client_{place}": describe_own_text(client) for place, client in enumerate(clients, 1)},
        {
            f"client_{place}": _build_client_part(
                client, titles, list_known_names(form, [client]), min(LINES, form.edits), said
            )
            for place, client in enumerate(clients, 1)
        },
    )


def _build_client_part(
    client: Client,
    titles: Mapping[int, str],
    allowed: Sequence[str],
    lines: int,
    said: dict[str, Client],
) -> ExpectedPart:
    lengths, names = narrow_attributes(allowed)
    if lines < LINES:
        lengths = {**lengths, "lines": (1, lines)}
    read = partial(
        build_edits,
        titles[client.ref],
        list_others(client.ref, titles),
        allowed=allowed,
        most=lines,
        said_of_others=partial(_is_said_of_another, said, client),
    )
    return ExpectedPart(ProfileAnswer, read, lengths=lengths, names=names)


def build_edits(
    title: str,
    others: Collection[str],
    answer: ProfileAnswer,
    check: TextCheck,
    allowed: Collection[str] = (),
    most: int = LINES,
    said_of_others: Callable[[str], bool] = lambda text: False,
) -> Sequence[Edit]:
    """Turn the answer into new catalogue lines.

    A line of an item that names another item of the call and not this one is refused: small models
    take one item for another. So are lines of which none names the item, and a description that
    the call gives to several clients.

    Args:
        title: The item's own title, as the prompt shows it; "" for a user.
        others: Main titles of other items in the call.
        allowed: The attributes that lines may have; none: any.
        most: The most lines.
        said_of_others: Whether the call gives a description to another client, too.

    Returns:
        The lines; none if all are refused.

    Raises:
        ValueError: The answer has no line with a text.
    """
    given = [line for line in answer.lines if line.text.strip()][:most]
    if not given:
        raise ValueError("lines is empty: write at least one")
    lines: list[CatalogueLine] = []
    for line in given:
        if any(is_same_text(line.text, other.text) for other in lines):
            continue
        named = find_named_title(line.text, title, others)
        if named not in (None, title):
            check.refuse(LossReason.OTHER_ITEM, f"a line is about {named!r}, another item")
        elif check.keep_line(line.text):
            lines.append(line)
    whole = " ".join(line.text for line in lines)
    if title and lines and find_named_title(whole, title) is None:
        check.refuse(LossReason.UNNAMED_ITEM, "no line names the item: begin with its title")
        return []
    if lines and is_bare_title(whole, title):
        check.refuse(LossReason.BARE_TITLE, "the description says nothing but the title")
        return []
    if lines and said_of_others(whole):
        check.refuse(LossReason.REPETITION, "several clients have the same description")
        return []
    return [
        AddLine(
            line=Line(
                id=0,
                text=limit_words(trim_to_word(line.text, TEXT_CHARS), LINE_MAX_WORDS),
                attributes=limit_attributes(
                    (trim_to_word(name, NAME_CHARS) for name in check.keep_names(line.attributes)),
                    allowed,
                ),
                weight=WEIGHT,
                author=Author.CATALOGUE,
            )
        )
        for line in lines
    ]


def _is_said_of_another(said: dict[str, Client], client: Client, text: str) -> bool:
    """Note a client's description; return whether another client got it before.

    Clients with the same text of their own may have the same one.
    """
    other = said.setdefault(text.casefold(), client)
    return describe_own_text(other) != describe_own_text(client)


def _show_own_title(client: Client) -> str:
    """Return an item's title, as shown; "" for a user."""
    if client.key.kind is not ClientKind.ITEM:
        return ""
    return quote_as_data(client.title, TITLE_CHARS)


def list_others(ref: int, shown: Mapping[int, str]) -> list[str]:
    """List other items' main titles that stand in no text by chance.

    Titles of fewer than SHORTEST_TITLE characters are left out, because any text may contain them.
    For a user there are none, because a user may name any item.

    Args:
        shown: The titles of all clients of the call, as the prompt shows them; "" for a user.
    """
    titles = {other: find_main_title(title) for other, title in shown.items()}
    own = titles[ref]
    return sorted(
        title
        for other, title in titles.items()
        if own and other != ref and len(title) >= SHORTEST_TITLE and title not in own
    )
