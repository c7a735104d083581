"""Edits and filter rules of one client after an interaction (eq. 9)."""

from collections.abc import Sequence

from propagation.adapters.offline.confirmation import (
    age_heard_lines,
    learn_attribute_rules,
    learn_router_rules,
)
from propagation.adapters.offline.own_lines import reinforce_audience, reinforce_choices
from propagation.adapters.offline.sentences import list_names
from propagation.model import Author, ClientKind, FilterRule, Profile, ReasonWork
from propagation.ports import OptimizeAnswer, Party


def optimize_client(
    work: ReasonWork, reward: int | None, party: Party, other: Party, room: int
) -> OptimizeAnswer:
    """Optimise the user, the chosen item, or the item that was passed over.

    `room` is how many lines of the profile may be the catalogue's and its own.
    """
    room = max(1, room - sum(line.author is Author.CATALOGUE for line in party.profile.lines))
    if party.client.key.kind == ClientKind.USER:
        chosen = frozenset(list_names(other.client))
        edits = [
            *reinforce_choices(work, party, other, room),
            *age_heard_lines(party.profile, chosen),
        ]
        found = learn_attribute_rules(
            party.filter_memory, party.profile, chosen, _own(party.profile), work.sequence
        )
        return OptimizeAnswer(edits=edits, rules=_rules(work, reward, party, chosen, found))
    taste = _own(other.profile)
    if party.client.ref == work.item:
        edits = [
            *reinforce_audience(work, party, other, room),
            *age_heard_lines(party.profile, taste),
        ]
        return OptimizeAnswer(edits=edits, rules=_rules(work, reward, party, taste))
    return OptimizeAnswer(
        edits=() if reward else age_heard_lines(party.profile, frozenset()),
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
    learned = learn_router_rules(
        party.filter_memory, party.profile, party.messages, chosen, reward, work.sequence
    )
    return [*learned, *found]


def _passed_over(
    work: ReasonWork, reward: int | None, party: Party, taste: frozenset[str]
) -> list[FilterRule]:
    """Learn rules of an item that was wrongly preferred.

    What it heard promised too much, unless it speaks of that reader's taste.
    """
    return [] if reward is None or reward else _rules(work, reward, party, taste)


def _own(profile: Profile) -> frozenset[str]:
    return frozenset(
        name
        for line in profile.lines
        if line.author is Author.INTERACTION
        for name in line.attributes
    )
