"""Prompt_merge (eq. 5): what waits in a buffer into the profile, under the filter memory."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from propagation.adapters.openai.prompting.answer_types import Answer, Names, at_most
from propagation.adapters.openai.prompting.profile_edits import (
    HEARD_WEIGHT,
    Edits,
    heard_edits,
    in_words,
)
from propagation.adapters.openai.prompting.prompt import RULES, Prompt, Question, Wanted
from propagation.adapters.openai.prompting.prompt_data import letter_in, lettered
from propagation.adapters.openai.prompting.prompt_data import party as shown
from propagation.model import MERGED_OUTCOME, Source
from propagation.ports import MergeAnswer, Party

TOKENS = 160
MESSAGES = 12
DECLINED = "declined"
HOW = """A client's `profile` holds its numbered lines. A client with `messages` heard those from communities around it; its
`rules`, if any, say how far to trust which. Answer for each client that has messages:
- `used`: the messages that concern it. Its `edits` rest on these; the others are dropped.
- `edits`: at most two, of what it heard. `op` add with `line` 0 adds a line; replace or drop changes the line of that number,
only one marked (heard). `text`: at most 25 words on what is heard of its taste (a user) or its audience (an item).
`attributes`: 1 to 4 short names, in lower case, of the concepts in the text.
Leave both empty where nothing concerns it.
"""
PROMPT = Prompt("merge", 3, RULES + "\n" + HOW)


class Reception(Answer):
    """At most two edits, and the messages they rest on."""

    stands_for: ClassVar[str] = "edits"
    used: Annotated[Names, at_most(MESSAGES)]
    edits: Edits


def build_question(party: Party) -> Question:
    """One part: client."""
    letters, said = lettered([party])
    return Question(
        PROMPT,
        {"messages": said, "client": shown(party, letters)},
        {"client": wanted(party, letters)},
        TOKENS,
    )


def wanted(party: Party, letters: Mapping[tuple[int, int], str]) -> Wanted:
    """Describe the part of one client."""
    return Wanted(Reception, lambda answer: merge_of(party, letters, answer))


def merge_of(party: Party, letters: Mapping[tuple[int, int], str], answer: Any) -> MergeAnswer:
    """Turn the answer into edits and the outcome of each message.

    A message that no edit rests on was declined. An edit that names none rests on all of the
    client's.
    """
    if answer.used and not answer.edits:
        answer = answer.model_copy(update={"used": []})
    known = {letters[message.router, message.version]: message for message in party.messages}
    meant = list(
        dict.fromkeys(letter for name in answer.used if (letter := letter_in(name, known)))
    )
    if answer.used and not meant:
        raise ValueError(
            f"used: there is no message {answer.used[0][:20]!r}; its messages are "
            f"{', '.join(known)}"
        )
    used = [known[letter] for letter in meant] or list(known.values())
    if not answer.edits:
        used = []
    factor = max(
        (party.filter_memory.factor_for(message.router, message.attributes) for message in used),
        default=1.0,
    )
    sources = [Source(router=message.router, version=message.version) for message in used]
    edits = heard_edits(
        party.profile,
        in_words(answer.edits, [party], letters),
        sources,
        min(HEARD_WEIGHT * factor, 0.9),
    )
    taken = {(message.router, message.version) for message in used} if edits else set()
    outcomes = {
        key: MERGED_OUTCOME if key in taken else DECLINED
        for key in ((message.router, message.version) for message in party.messages)
    }
    return MergeAnswer(edits=edits, outcomes=outcomes)
