"""Edits and filter rules of one client after an interaction (eq. 9)."""

from propagation.adapters.offline.merge import HEARD_MAX, list_heard_lines
from propagation.adapters.offline.own_lines import reinforce_audience, reinforce_choices
from propagation.adapters.offline.sentences import list_names
from propagation.model import (
    Author,
    ClientKind,
    DropLine,
    Edit,
    FilterRule,
    Line,
    Profile,
    ReasonWork,
    ReplaceLine,
    join_names,
)
from propagation.ports import OptimizeAnswer, Party

CONFIRMED, FADED, STALE_BELOW = 0.1, 0.97, 0.15
RAISE, LOWER = 1.25, 0.8
EVIDENCE = 8


def optimize_client(
    work: ReasonWork, reward: int | None, party: Party, other: Party, room: int
) -> OptimizeAnswer:
    """Optimise the user, the chosen item, or the passed-over item.

    Args:
        reward: 1 or 0; None if nothing was predicted.
        other: The chosen item if `party` is the user, or else the user.
        room: How many lines of the profile may come from the catalogue and from interactions.
    """
    authors = [line.author for line in party.profile.lines]
    room = max(1, room - authors.count(Author.CATALOGUE))
    if party.client.key.kind == ClientKind.USER:
        chosen = frozenset(list_names(other.client))
        return OptimizeAnswer(
            edits=[
                *reinforce_choices(work, party, other, room),
                *age_heard_lines(party.profile, chosen),
            ],
            rules=[
                *learn_router_rules(work, reward, party, chosen),
                *learn_attribute_rules(work, party, chosen),
            ],
        )
    taste = _list_own_names(other.profile)
    if party.client.ref == work.item:
        return OptimizeAnswer(
            edits=[
                *reinforce_audience(work, party, other, room),
                *age_heard_lines(party.profile, taste),
            ],
            rules=learn_router_rules(work, reward, party, taste),
        )
    if reward:
        return OptimizeAnswer(edits=())
    # This item was wrongly preferred, so its messages promised too much, except for those that
    # name the user's taste.
    return OptimizeAnswer(
        edits=age_heard_lines(party.profile, frozenset()),
        rules=learn_router_rules(work, reward, party, taste),
    )


def _list_own_names(profile: Profile) -> frozenset[str]:
    return frozenset[str]().union(
        *[line.attributes for line in profile.lines if line.author is Author.INTERACTION]
    )


def age_heard_lines(profile: Profile, chosen: frozenset[str]) -> list[Edit]:
    """Age heard lines by one more choice.

    A line that shares an attribute with the choice gains weight. Other lines fade, and a line is
    dropped when its weight falls below STALE_BELOW.
    """
    aged = [
        line.with_changes(
            weight=min(line.weight + CONFIRMED, HEARD_MAX)
            if chosen.intersection(line.attributes)
            else line.weight * FADED
        )
        for line in _list_heard(profile)
    ]
    return [
        DropLine(id=line.id) if line.weight < STALE_BELOW else ReplaceLine(line=line)
        for line in aged
    ]


def learn_router_rules(
    work: ReasonWork, reward: int | None, party: Party, chosen: frozenset[str]
) -> list[FilterRule]:
    """Learn from a prediction, if there was one, which communities to believe.

    A router is believed more if its message fits the choice and the prediction was right. It is
    believed less if its message does not fit and the prediction was wrong.
    """
    if reward is None:
        return []
    rules = []
    heard = list_heard_lines(party.profile) if party.messages else {}
    for message in party.messages:
        line = heard.get((message.router, message.version))
        if line is None:
            continue
        fits = bool(chosen.intersection(line.attributes))
        if fits == bool(reward):
            new = FilterRule(router=message.router, factor=1.0, text="")
            # The number stays, but the router's name may change or have to be deleted.
            about = f"what the community of router {message.router} passes on"
            rules.append(_change_rule(work, party, new, RAISE if fits else LOWER, about))
    return rules


def learn_attribute_rules(
    work: ReasonWork, party: Party, chosen: frozenset[str]
) -> list[FilterRule]:
    """Learn which attributes the client wants to hear of.

    If the client heard of an attribute and now chose it for the first time, news of the attribute
    gains weight. If a heard line went stale without a choice, news of its first attribute loses
    weight.
    """
    rules = []
    new_to_it = chosen - _list_own_names(party.profile)
    for line in _list_heard(party.profile):
        found = next((name for name in line.attributes if name in new_to_it), None)
        if found is not None:
            rules.append(_write_attribute_rule(work, party, found, RAISE))
        elif (
            not chosen.intersection(line.attributes)
            and line.weight * FADED < STALE_BELOW
            and line.attributes
        ):
            rules.append(_write_attribute_rule(work, party, line.attributes[0], LOWER))
    return rules


def _list_heard(profile: Profile) -> list[Line]:
    return [line for line in profile.lines if line.author is Author.RECEPTION]


def _write_attribute_rule(work: ReasonWork, party: Party, name: str, change: float) -> FilterRule:
    return _change_rule(
        work,
        party,
        FilterRule(attribute=name, factor=1.0, text=""),
        change,
        f"news of {join_names([name])}",
    )


def _change_rule(
    work: ReasonWork, party: Party, new: FilterRule, change: float, about: str
) -> FilterRule:
    """Change the rule with the target of `new`, or else `new`.

    Args:
        change: Multiplies the rule's factor.
        about: The subject of the rule's text.
    """
    old = next((rule for rule in party.filter_memory.rules if rule.target == new.target), new)
    factor = old.factor * change
    return FilterRule(
        router=old.router,
        attribute=old.attribute,
        factor=factor,
        text=_write_advice(factor, about),
        evidence=(*old.evidence, work.sequence)[-EVIDENCE:],
        age=work.sequence,
    )


def _write_advice(factor: float, about: str) -> str:
    """Describe a factor in words.

    The words go from "leave out" (below 0.5) to "put first".
    """
    if factor < 0.5:
        return f"Leave out {about}: it did not fit the choices made."
    if factor < 0.95:
        return f"Be wary of {about}."
    if factor <= 1.05:
        return f"Weigh {about} as any other."
    return f"Put {about} first: choices bear it out." if factor >= 2 else f"Welcome {about}."
