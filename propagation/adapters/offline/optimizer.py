"""Prompt_optimizer (eq. 9), offline: edits and filter rules of one client after an interaction."""

from collections.abc import Sequence

from propagation.adapters.offline.confirmation import aged, discoveries, rules_after
from propagation.adapters.offline.own_lines import adopted, reinforced
from propagation.adapters.offline.sentences import names_of
from propagation.model.clients.client import ClientKind
from propagation.model.clients.filter_memory import FilterRule
from propagation.model.clients.profile import Author, Profile
from propagation.model.interactions.reasoning import ReasonWork
from propagation.ports.reasoner import OptimizeAnswer, Party


def optimized(
    work: ReasonWork, reward: int | None, party: Party, other: Party, room: int
) -> OptimizeAnswer:
    """The user after its choice, the chosen item after its taker, or the item that was passed over.
    `room`: how many lines of the profile may be the catalogue's and its own."""
    room = max(1, room - sum(line.author is Author.CATALOGUE for line in party.profile.lines))
    if party.client.key.kind == ClientKind.USER:
        chosen = frozenset(names_of(other.client))
        edits = [*reinforced(work, party, other, room), *aged(party.profile, chosen)]
        found = discoveries(
            party.filter_memory, party.profile, chosen, _own(party.profile), work.sequence
        )
        return OptimizeAnswer(edits=edits, rules=_rules(work, reward, party, chosen, found))
    taste = _own(other.profile)
    if party.client.ref == work.item:
        edits = [*adopted(work, party, other, room), *aged(party.profile, taste)]
        return OptimizeAnswer(edits=edits, rules=_rules(work, reward, party, taste))
    return OptimizeAnswer(
        edits=() if reward else aged(party.profile, frozenset()),
        rules=_passed_over(work, reward, party, taste),
    )


def _rules(
    work: ReasonWork,
    reward: int | None,
    party: Party,
    chosen: frozenset[str],
    found: Sequence[FilterRule] = (),
) -> list[FilterRule]:
    if reward is None:
        return list(found)
    learned = rules_after(
        party.filter_memory, party.profile, party.messages, chosen, reward, work.sequence
    )
    return [*learned, *found]


def _passed_over(
    work: ReasonWork, reward: int | None, party: Party, taste: frozenset[str]
) -> list[FilterRule]:
    """An item that was wrongly preferred: what it heard promised too much, unless it speaks of that
    reader's taste."""
    return [] if reward is None or reward else _rules(work, reward, party, taste)


def _own(profile: Profile) -> frozenset[str]:
    return frozenset(
        name
        for line in profile.lines
        if line.author is Author.INTERACTION
        for name in line.attributes
    )
