"""Prompt_summarize (eq. 3), offline: a router's name and message."""

from collections.abc import Mapping, Sequence

from propagation.adapters.offline.wording import listed, plain_title, quoted, within
from propagation.model.attribute import over_represented

NAMED, APART, USUAL, ARRIVED, EXAMPLES = 2, 3, 2, 3, 3
MESSAGE_MAX_WORDS = 60
UNNAMED = "a community without words yet"


def router_text(router: int, arrived: Mapping[str, int], standing: Mapping[str, float], common: Mapping[str, float],
                examples: Sequence[str]) -> tuple[str, str]:
    """(name of at most two attributes, message of at most 60 words). The name says what is over-represented here."""
    apart = over_represented(standing, common)
    name = " and ".join(apart[:NAMED]) or UNNAMED
    parts = [_standing_sentence(apart, standing)]
    turning = over_represented(arrived, _shares(standing))[:ARRIVED]
    if turning:
        parts.append(f"{_turn(router)} {listed(turning)}.")
    message = " ".join(parts)
    titles = [quoted(plain_title(title)) for title in examples[:EXAMPLES]]
    return name, within(message, titles, " Seen around {}.", MESSAGE_MAX_WORDS)


def _standing_sentence(apart: Sequence[str], standing: Mapping[str, float]) -> str:
    if not apart:
        return "A community that is taking shape."
    special = apart[:APART]
    usual = [name for name in sorted(standing, key=lambda name: (-standing[name], name))[:USUAL] if name not in special]
    besides = f", with {listed(usual)} besides" if usual else ""
    return f"A community drawn to {listed(special)}{besides}."


def _turn(router: int) -> str:
    return ("It is now turning to", "Lately it looks to", "Its newest interest is")[router % 3]


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}
