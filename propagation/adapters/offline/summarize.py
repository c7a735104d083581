"""A router's message (eq. 3)."""

from collections.abc import Mapping, Sequence

from propagation.adapters.offline.sentences import clean_title, fit_titles, quote
from propagation.model import join_names, rank_by_distinctiveness

APART, USUAL, ARRIVED, EXAMPLES = 3, 2, 4, 3
MESSAGE_MAX_WORDS = 60
TURNS = ("It is now turning to", "Lately it looks to", "Its newest interest is")


def summarize_router(
    router: int,
    arrived: Mapping[str, int],
    standing: Mapping[str, float],
    common: Mapping[str, float],
    examples: Sequence[str],
) -> str:
    """Write a router's message of at most 60 words.

    The message says first what sets the router apart. For the arguments see ports.Integration.
    """
    special = rank_by_distinctiveness(standing, common)[:APART]
    largest = sorted(standing, key=lambda name: (-standing[name], name))[:USUAL]
    usual = [name for name in largest if name not in special]
    message = _write_standing_sentence(special, usual)
    turning = [
        one
        for one in rank_by_distinctiveness(arrived, _compute_shares(standing))
        if one not in special and one not in usual
    ][:ARRIVED]
    if turning:
        message += f" {TURNS[router % len(TURNS)]} {join_names(turning)}."
    titles = [quote(clean_title(title)) for title in examples[:EXAMPLES]]
    return fit_titles(message, titles, " Seen around {}.", MESSAGE_MAX_WORDS)


def _write_standing_sentence(special: Sequence[str], usual: Sequence[str]) -> str:
    if not special:
        return "A community that is taking shape."
    besides = f", with {join_names(usual)} besides" if usual else ""
    return f"A community drawn to {join_names(special)}{besides}."


def _compute_shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}
