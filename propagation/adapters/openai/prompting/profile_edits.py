"""Turn a model's edits of profile lines into edits of the profile."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, model_validator

from propagation.adapters.openai.prompting.answer_schema import (
    NAME_CHARS,
    TEXT_CHARS,
    Choices,
    Lengths,
    trim_to_word,
)
from propagation.adapters.openai.prompting.answer_types import (
    Answer,
    Names,
    Number,
    Several,
    Words,
    limit_length,
    read_several,
)
from propagation.adapters.openai.prompting.degenerate_text import TextCheck, is_same_text
from propagation.adapters.openai.prompting.line_subject import ANY_SUBJECT, LineSubject
from propagation.adapters.openai.prompting.prompt_data import HEARD_MARK, Letters
from propagation.adapters.openai.prompting.question_form import MOST_EDITS, QuestionForm
from propagation.model import (
    LINE_MAX_WORDS,
    TITLE,
    WEIGHT_KEPT,
    AddLine,
    Author,
    ClientKind,
    DropLine,
    Edit,
    Line,
    LossReason,
    Profile,
    ReplaceLine,
    Source,
    find_names_in_text,
    get_kind,
    normalize_name,
)

ATTRIBUTES = 4
SOURCES = 8
HEARD_WEIGHT, OWN_WEIGHT = 0.4, 1.0
LINE_CHARS, LONGEST_WORD = 400, 30
HEARD = frozenset({Author.RECEPTION})
OWN = frozenset(Author) - {Author.CATALOGUE}
"""Authors whose lines reception may change, and those whose lines an interaction may."""


OPS = {
    "new": "add",
    "insert": "add",
    "append": "add",
    "update": "replace",
    "edit": "replace",
    "change": "replace",
    "modify": "replace",
    "rewrite": "replace",
    "delete": "drop",
    "remove": "drop",
}


NO_OP = frozenset(
    {
        "none",
        "no",
        "no change",
        "no_change",
        "no-change",
        "nochange",
        "nothing",
        "keep",
        "null",
        "noop",
        "no edit",
        "no_edit",
    }
)


def read_word(value: Any, synonyms: Mapping[str, str]) -> str:
    """Return a word in lower case, with synonyms replaced."""
    word = str(value).strip().lower()
    return synonyms.get(word, word)


class EditAnswer(Answer):
    """One edit.

    `line` is the number of the line to replace or drop, and 0 for a new one. Without an `op`, a
    line's number and a text replace that line.
    """

    op: Annotated[
        Literal["add", "replace", "drop"], BeforeValidator(lambda value: read_word(value, OPS))
    ] = "add"
    line: Number = 0
    text: Words = ""
    attributes: Names

    @model_validator(mode="after")
    def _translate(self) -> "EditAnswer":
        unsaid = "op" not in self.model_fields_set and self.line > 0 and self.text
        return self.model_copy(update={"op": "replace"}) if unsaid else self


def list_line_choices(profile: Profile, *, heard: bool, hidden: Collection[int] = ()) -> Choices:
    """Return what `op` and `line` of an edit may be.

    Args:
        heard: Whether the edits are those of reception.
        hidden: Ids of lines that the prompt does not show.
    """
    numbers = _number_editable(profile, HEARD if heard else OWN, hidden)
    return {"op": ["add", "replace", "drop"] if numbers else ["add"], "line": [0, *numbers]}


def _number_editable(
    profile: Profile, authors: Collection[Author], hidden: Collection[int]
) -> dict[int, Line]:
    """Return the lines that an edit may change, by their numbers.

    Args:
        authors: The authors whose lines may be changed.
        hidden: Ids of lines that the prompt does not show.
    """
    return {
        number: line
        for number, line in enumerate(profile.lines, 1)
        if line.author in authors and line.id not in hidden
    }


def _drop_none(value: Any) -> Any:
    return [
        one
        for one in read_several(value)
        if not (isinstance(one, dict) and read_word(one.get("op", "add"), OPS) in NO_OP)
    ]


Edits = Annotated[Several[EditAnswer], BeforeValidator(_drop_none), limit_length(MOST_EDITS)]


def limit_words(text: str, most: int) -> str:
    """Cut a text to one line of at most so many words.

    Marks that models put around the text ("- ", quotes) are left out. In a text without spaces
    (Chinese, Japanese, Thai) two characters count as a word.
    """
    plain = " ".join(text.split()).strip('-*•"“” ').removeprefix(HEARD_MARK)[:LINE_CHARS]
    kept: list[str] = []
    room = most
    for part in plain.split():
        count = 1 if len(part) <= LONGEST_WORD else len(part) // 2
        if count > room:
            cut = part[: 2 * room] if count > 1 else ""
            return " ".join([*kept, cut] if cut else kept).rstrip(",;:，、；：") + "…"
        kept.append(part)
        room -= count
    return plain


def limit_attributes(found: Iterable[str], known: Collection[str] = ()) -> tuple[str, ...]:
    """Normalise attributes: at most four, each of at most five words.

    Args:
        known: If there are any, all others are left out.
    """
    return tuple(
        dict.fromkeys(
            name
            for one in found
            if (name := normalize_name(one))
            and len(name.split()) <= 5
            and (not known or name in known)
        )
    )[:ATTRIBUTES]


def narrow_attributes(known: Sequence[str]) -> tuple[Lengths, Choices]:
    """Narrow a part to these attributes: return its lengths and names.

    Args:
        known: If there are none, a model may give any.
    """
    if not known:
        return {}, {}
    return {"attributes": (1, min(ATTRIBUTES, len(known)))}, {"attributes": known}


def narrow_edits(form: QuestionForm, known: Sequence[str] = ()) -> dict[str, Any]:
    """Narrow a part with edits or rules to what the settings allow.

    Args:
        known: The attributes from which a model chooses, if there are any.

    Returns:
        The fields `lengths` and `names` of ExpectedPart.
    """
    lengths, names = narrow_attributes(known)
    if form.edits < MOST_EDITS:
        lengths = {**lengths, "edits": (0, form.edits), "rules": (0, form.edits)}
    return {"lengths": lengths, "names": names}


def build_heard_edits(
    profile: Profile,
    answers: Sequence[EditAnswer],
    letters: Letters,
    sources: Sequence[Source],
    weight: float,
    check: TextCheck,
    allowed: Collection[str] = (),
    subject: LineSubject = ANY_SUBJECT,
) -> list[Edit]:
    """Turn a model's edits into those of reception.

    They change or add heard lines; all other lines stay.

    Args:
        sources: The messages on which the edits rest.
        weight: The weight of each edited line.
        allowed: The attributes that lines may have; none: any.
        subject: Tells lines that are about another client.

    Source: RecNet, eq. 5.
    """
    return _build_edits(
        profile,
        answers,
        letters,
        Author.RECEPTION,
        HEARD,
        lambda old: (weight, sources[:SOURCES]),
        check,
        allowed=allowed,
        subject=subject,
    )


def build_own_edits(
    profile: Profile,
    answers: Sequence[EditAnswer],
    letters: Letters,
    sequence: int,
    check: TextCheck,
    hidden: Collection[int] = (),
    known: Collection[str] = (),
    allowed: Collection[str] = (),
    subject: LineSubject = ANY_SUBJECT,
) -> list[Edit]:
    """Turn a model's edits into those of an interaction.

    They change lines from interactions and messages, or add lines; the catalogue's lines stay. An
    added line replaces a hidden line that shares at least half of the attributes. A line that
    replaces another rests on the sources of both.

    An item's line may only be replaced by a line that names nothing new. Otherwise a line is added,
    which rests on this interaction alone.

    Args:
        hidden: Ids of lines that the prompt does not show.
        known: Attributes that the prompt names.
        allowed: The attributes that lines may have; none: any.
        subject: Tells lines that are about another client.

    Raises:
        ValueError: Every edit names a line that does not exist.

    Source: RecNet, eq. 9.
    """
    count = len(profile.lines)
    wrong = [
        answer.line for answer in answers if answer.op != "add" and not 1 <= answer.line <= count
    ]
    if answers and len(wrong) == len(answers):
        raise ValueError(
            f"line {wrong[0]} does not exist: give a line's number (1 to {count}), or add one"
        )
    is_user = get_kind(profile.ref) == ClientKind.USER
    return _build_edits(
        profile,
        answers,
        letters,
        Author.INTERACTION,
        OWN,
        lambda old: (
            old.weight * WEIGHT_KEPT + OWN_WEIGHT if old else OWN_WEIGHT,
            (*(old.sources if old else ()), Source(sequence=sequence))[-SOURCES:],
        ),
        check,
        [line for line in profile.lines if line.id in hidden],
        lambda old, new: is_user or _find_named_in(new, known) <= _find_named_in(old, known),
        allowed,
        subject,
    )


def _find_named_in(line: Line, known: Collection[str]) -> frozenset[str]:
    """Return a line's attributes, the known ones it names, and quoted titles."""
    quotes = TITLE.findall(line.text)
    return frozenset((*line.attributes, *find_names_in_text(known, line.text), *quotes))


def _build_edits(
    profile: Profile,
    answers: Sequence[EditAnswer],
    letters: Letters,
    author: Author,
    editable: Collection[Author],
    weigh_and_cite: Callable[[Line | None], tuple[float, Sequence[Source]]],
    check: TextCheck,
    hidden: Sequence[Line] = (),
    may_replace: Callable[[Line, Line], bool] = lambda old, new: True,
    allowed: Collection[str] = (),
    subject: LineSubject = ANY_SUBJECT,
) -> list[Edit]:
    """Return the edits that answers ask for, at most one a line.

    A new line takes the place of a hidden line with similar attributes. A replacement of a line
    that may not be replaced becomes a new line. An edit that would leave a line without text is
    ignored. A degenerate text is refused, and so is one about another client, and the text of
    another line, if that line stays.

    Args:
        letters: Spells out the letters that stand for clients in the answers.
        author: The author of the new lines.
        editable: The authors whose lines may be replaced or dropped.
        weigh_and_cite: Returns a line's weight and sources, given the line that it replaces or None.
        check: Checks the texts and attributes, and notes what is refused.
        hidden: Lines that the prompt does not show.
        may_replace: Whether the second line may take the place of the first.
        allowed: The attributes that lines may have; none: any.
    """
    out: list[Edit] = []
    edited: set[int] = set()
    by_number = _number_editable(profile, editable, {line.id for line in hidden})
    changed = {
        by_number[answer.line].id
        for answer in answers[:MOST_EDITS]
        if answer.op != "add" and answer.line in by_number
    }
    standing = [line for line in profile.lines if line.id not in changed and line not in hidden]
    for answer in answers[:MOST_EDITS]:
        if answer.op == "drop":
            dropped = by_number.get(answer.line)
            if dropped is not None and dropped.id not in edited:
                edited.add(dropped.id)
                out.append(DropLine(id=dropped.id))
            continue
        attributes = limit_attributes(
            (trim_to_word(name, NAME_CHARS) for name in check.keep_names(answer.attributes)),
            allowed,
        )
        given = trim_to_word(check.keep_line(answer.text), TEXT_CHARS)
        text = limit_words(letters.spell(given), LINE_MAX_WORDS)
        if not text:
            continue
        if fault := subject.find_fault(given):
            check.refuse(*fault)
            continue
        old = (
            by_number.get(answer.line)
            if answer.op == "replace"
            else next(
                (
                    line
                    for line in hidden
                    if _is_near(line.attributes, attributes) or is_same_text(line.text, text)
                ),
                None,
            )
        )
        line = Line(id=0, text=text, attributes=attributes, author=author)
        if old is not None and not may_replace(old, line):
            old = None
        if any(is_same_text(text, other.text) for other in standing):
            check.refuse(LossReason.STANDING_LINE, "a line like this stands there already")
            continue
        if old is not None and old.id in edited:
            continue
        weight, sources = weigh_and_cite(old)
        line = replace(line, id=old.id if old else 0, weight=weight, sources=tuple(sources))
        standing.append(line)
        if old is None:
            out.append(AddLine(line=line))
        else:
            edited.add(old.id)
            out.append(ReplaceLine(line=line))
    return out


def _is_near(some: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether at least half of all the attributes are in both."""
    return 2 * len({*some} & {*others}) >= len({*some, *others}) > 0
