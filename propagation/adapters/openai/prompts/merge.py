"""Prompt_merge (eq. 5): what waits in a buffer into the profile, under the filter memory."""

from collections.abc import Mapping
from typing import Any, ClassVar

from propagation.adapters.openai.data import lettered
from propagation.adapters.openai.data import party as shown
from propagation.adapters.openai.prompts.answer import Answer, Names
from propagation.adapters.openai.prompts.lines import HEARD_WEIGHT, Edits, heard_edits
from propagation.adapters.openai.prompts.prompt import RULES, Prompt, Question, Wanted
from propagation.model.profile import Source
from propagation.model.text import MERGED_OUTCOME
from propagation.ports.reasoner import MergeAnswer, Party

TOKENS = 160
DECLINED = "declined"
HOW = """A client with `messages` has heard from communities around it. Take in what concerns it, as its `rules` tell you (they say
how much it trusts what), by at most two edits of its profile: add a line (`line`: 0), or replace or drop one marked (heard), by
its number. A line has at most 25 words and says in the client's terms what is heard of its taste (a user) or of its audience
(an item); give it 1 to 4 `attributes`, short names of the concepts it speaks of, in lower case. `used` lists the messages that
you took in; what is left out is dropped. No edit is a good answer where nothing concerns the client.
"""
PROMPT = Prompt("merge", 1, RULES + "\n" + HOW)


class Reception(Answer):
    """At most two edits, and the messages they rest on."""

    stands_for: ClassVar[str] = "edits"
    used: Names
    edits: Edits


def question(party: Party) -> Question:
    """One part: client."""
    letters, said = lettered([party])
    return Question(PROMPT, {"messages": said, "client": shown(party, letters)}, {"client": wanted(party, letters)}, TOKENS)


def wanted(party: Party, letters: Mapping[tuple[int, int], str]) -> Wanted:
    return Wanted(Reception, lambda answer: merge_of(party, letters, answer))


def merge_of(party: Party, letters: Mapping[tuple[int, int], str], answer: Any) -> MergeAnswer:
    """A message that no edit rests on was declined. An edit that names none rests on all of the client's."""
    if answer.used and not answer.edits:
        answer = answer.model_copy(update={"used": []})
    known = {letters[message.router, message.version]: message for message in party.messages}
    wrong = [name for name in answer.used if name.strip().upper() not in known]
    if wrong and len(wrong) == len(answer.used):
        raise ValueError(f"used: there is no message {wrong[0][:20]!r}; its messages are {', '.join(known)}")
    used = [known[name.strip().upper()] for name in answer.used if name.strip().upper() in known] or list(known.values())
    if not answer.edits:
        used = []
    factor = max((party.filter_memory.factor_for(message.router, message.attributes) for message in used), default=1.0)
    edits = heard_edits(party.profile, answer.edits, [Source(router=message.router, version=message.version) for message in used],
                        min(HEARD_WEIGHT * factor, 0.9))
    taken = {(message.router, message.version) for message in used} if edits else set()
    outcomes = {key: MERGED_OUTCOME if key in taken else DECLINED
                for key in ((message.router, message.version) for message in party.messages)}
    return MergeAnswer(edits=edits, outcomes=outcomes)
