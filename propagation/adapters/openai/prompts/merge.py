"""Prompt_merge (eq. 5): merge buffered messages into the profile.

The filter memory is applied.
"""

from collections.abc import Collection, Sequence
from typing import Annotated

from propagation.adapters.openai.prompting import (
    ANY_SUBJECT,
    HEARD_WEIGHT,
    RULES,
    USUAL_FORM,
    Answer,
    Edits,
    ExpectedPart,
    Letters,
    LineSubject,
    Names,
    Prompt,
    Question,
    QuestionForm,
    TextCheck,
    build_heard_edits,
    build_subject,
    find_letter_in,
    find_text_subjects,
    limit_length,
    list_known_names,
    list_line_choices,
    narrow_edits,
    show_party,
)
from propagation.model import MERGED_OUTCOME, RouterVersion, Source
from propagation.ports import MergeAnswer, Party

MESSAGES = 12
HOW = """A client's `profile` holds its numbered lines. A client with `messages` heard those from communities around it; its
`rules`, if any, say how far to trust which. Answer for each client that has messages:
- `used`: the messages that concern it. Its `edits` rest on these; the others are dropped.
- `edits`: at most two, of what it heard. `op` add with `line` 0 adds a line; replace or drop changes the line of that number,
only one marked (heard). `text`: at most 25 words on what is heard of its taste (a user) or its audience (an item).
`attributes`: 1 to 4 short names, in lower case, of the concepts in the text.
Leave both empty where nothing concerns it.
"""
PROMPT = Prompt("merge@3", RULES + "\n" + HOW)


class ReceptionAnswer(Answer, stands_for="edits"):
    """At most two edits, and the messages on which they rest."""

    used: Annotated[Names, limit_length(MESSAGES)]
    edits: Edits


def build_question(party: Party, form: QuestionForm = USUAL_FORM) -> Question:
    """Ask what a client takes in, as the only part `client`."""
    letters = Letters([party])
    return Question(
        PROMPT,
        {"messages": letters.show(), "client": show_party(party, letters, titles=form.titles)},
        {"client": build_reception_part(party, letters, form)},
        find_text_subjects(form, [party.client], letters.messages.values(), [party]),
    )


def build_reception_part(
    party: Party, letters: Letters, form: QuestionForm = USUAL_FORM, parties: Sequence[Party] = ()
) -> ExpectedPart:
    """Build the expected part of one client.

    Args:
        parties: All clients of the question.
    """
    heard = letters.list_heard_by(party)
    known = list(heard)
    allowed = list_known_names(form, [party.client], heard.values(), [party])
    narrowed = narrow_edits(form, allowed)
    subject = build_subject(party, parties)
    return ExpectedPart(
        ReceptionAnswer,
        lambda answer, check: merge_of(party, letters, answer, check, form, allowed, subject),
        choices={
            "used": known,
            **list_line_choices(party.profile, heard=True, hidden=party.unshared),
        },
        lengths={"used": (0, len(known)), **narrowed["lengths"]},
        names=narrowed["names"],
    )


def merge_of(
    party: Party,
    letters: Letters,
    answer: ReceptionAnswer,
    check: TextCheck,
    form: QuestionForm = USUAL_FORM,
    allowed: Collection[str] = (),
    subject: LineSubject = ANY_SUBJECT,
) -> MergeAnswer:
    """Turn the answer into edits and the outcome of each message.

    The edits rest on the used messages, or on all of the client's messages if the answer names
    none. A message on which no edit rests was declined.

    Args:
        allowed: The attributes that lines may have; none: any.
        subject: Tells lines that are about another client.

    Raises:
        ValueError: The answer names only messages that the client does not have.
    """
    known = letters.list_heard_by(party)
    used: dict[str, RouterVersion] = {}
    if answer.edits:
        used = {
            letter: known[letter] for name in answer.used if (letter := find_letter_in(name, known))
        }
        if answer.used and not used:
            raise ValueError(
                f"used: there is no message {answer.used[0][:20]!r}; its messages are "
                f"{', '.join(known)}"
            )
        used = used or known
    factor = max(
        (
            party.filter_memory.get_factor(message.router, message.attributes)
            for message in used.values()
        ),
        default=1.0,
    )
    sources = [Source(router=message.router, version=message.version) for message in used.values()]
    edits = build_heard_edits(
        party.profile,
        answer.edits[: form.edits],
        letters,
        sources,
        min(HEARD_WEIGHT * factor, 0.9),
        check,
        allowed,
        subject,
    )
    return MergeAnswer(
        edits=edits,
        outcomes={
            (message.router, message.version): (
                MERGED_OUTCOME if edits and letter in used else "declined"
            )
            for letter, message in known.items()
        },
    )
