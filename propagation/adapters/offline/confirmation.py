"""What interactions make of lines that were heard, and of filter rules (eq. 8 into 9)."""

from collections.abc import Sequence

from propagation.adapters.offline.merge import HEARD_MAX, heard_lines
from propagation.adapters.offline.sentences import join_names
from propagation.model import (
    Author,
    DropLine,
    Edit,
    FilterMemory,
    FilterRule,
    Line,
    Profile,
    ReplaceLine,
    RouterVersion,
)

CONFIRMED, FADED, STALE_BELOW = 0.1, 0.97, 0.15
RAISE, LOWER = 1.25, 0.8
EVIDENCE = 8


def age_heard_lines(profile: Profile, chosen: frozenset[str]) -> list[Edit]:
    """Age heard lines by one more choice.

    Those that the choice bears out gain weight, the others fade, and stale ones are dropped.
    """
    edits: list[Edit] = []
    for line in _heard(profile):
        weight = (
            min(line.weight + CONFIRMED, HEARD_MAX)
            if chosen.intersection(line.attributes)
            else line.weight * FADED
        )
        if weight < STALE_BELOW:
            edits.append(DropLine(id=line.id))
        else:
            edits.append(ReplaceLine(line=line.with_changes(weight=weight)))
    return edits


def learn_router_rules(
    memory: FilterMemory,
    profile: Profile,
    messages: Sequence[RouterVersion],
    chosen: frozenset[str],
    reward: int,
    sequence: int,
) -> list[FilterRule]:
    """Learn from a prediction which communities to believe.

    A message that fits what was chosen is believed more after a right prediction; one that does not
    fit is believed less after a wrong one.
    """
    rules = []
    heard = heard_lines(profile) if messages else {}
    for message in messages:
        line = heard.get((message.router, message.version))
        if line is None:
            continue
        fits = bool(chosen.intersection(line.attributes))
        if fits == bool(reward):
            rules.append(_router_rule(memory, message, fits, sequence))
    return rules


def learn_attribute_rules(
    memory: FilterMemory,
    profile: Profile,
    chosen: frozenset[str],
    own: frozenset[str],
    sequence: int,
) -> list[FilterRule]:
    """Learn which attributes' news to let in.

    News of an attribute that the client never chose before, and now did, is worth more to it; news
    that went stale without a choice is worth less.
    """
    rules = []
    for line in _heard(profile):
        found = next((name for name in line.attributes if name in chosen and name not in own), None)
        if found is not None:
            rules.append(_attribute_rule(memory, found, RAISE, sequence))
        elif (
            not chosen.intersection(line.attributes)
            and line.weight * FADED < STALE_BELOW
            and line.attributes
        ):
            rules.append(_attribute_rule(memory, line.attributes[0], LOWER, sequence))
    return rules


def _heard(profile: Profile) -> list[Line]:
    return [line for line in profile.lines if line.author is Author.RECEPTION]


def _router_rule(
    memory: FilterMemory, message: RouterVersion, raised: bool, sequence: int
) -> FilterRule:
    old = next((rule for rule in memory.rules if rule.router == message.router), None)
    factor = (old.factor if old else 1.0) * (RAISE if raised else LOWER)
    return FilterRule(
        router=message.router,
        factor=factor,
        text=_advice(factor, f"what the {message.name} community passes on"),
        evidence=_evidence(old, sequence),
        age=sequence,
    )


def _attribute_rule(memory: FilterMemory, name: str, change: float, sequence: int) -> FilterRule:
    old = next((rule for rule in memory.rules if rule.attribute == name), None)
    factor = (old.factor if old else 1.0) * change
    return FilterRule(
        attribute=name,
        factor=factor,
        text=_advice(factor, f"news of {join_names([name])}"),
        evidence=_evidence(old, sequence),
        age=sequence,
    )


def _advice(factor: float, about: str) -> str:
    """Say a factor in words, from "leave out" (below .5: dropped) to "put first"."""
    if factor < 0.5:
        return f"Leave out {about}: it did not fit the choices made."
    if factor < 0.95:
        return f"Be wary of {about}."
    if factor <= 1.05:
        return f"Weigh {about} as any other."
    return f"Put {about} first: choices bear it out." if factor >= 2 else f"Welcome {about}."


def _evidence(old: FilterRule | None, sequence: int) -> tuple[int, ...]:
    return (*(old.evidence if old else ()), sequence)[-EVIDENCE:]
