"""An attribute: one granular concept of a profile (RecNet 2.2.1, eq. 1)."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from math import log

from propagation.model.base import Term

NAME_MAX_CHARS = 120
TITLE = re.compile("“([^“”]*)”")
"""A quoted title; inside, marks of this kind are written as `\"`."""
STRAIGHT = str.maketrans("“”", '""')


def normalize_name(name: str) -> str:
    """Normalize an attribute's name: NFKC, case folded, white space collapsed.

    “ and ” become ", because texts quote titles with them, and only titles.

    Returns:
        At most 120 characters; "" if nothing is left.
    """
    return _make_plain(name)[:NAME_MAX_CHARS]


def find_names_in_text(names: Iterable[str], text: str) -> tuple[str, ...]:
    """Return those names that a text holds as whole words.

    Titles in the text's quotation marks are not searched.

    Args:
        names: Normalized names.
    """
    words = _make_plain(TITLE.sub(" ", text))
    return tuple(name for name in names if _holds_word(name, words))


def _holds_word(name: str, words: str) -> bool:
    # Without a regular expression: compiling one for each name takes longer than the search.
    at = words.find(name)
    while at >= 0:
        end = at + len(name)
        if not (at and _is_in_word(words[at - 1])) and not (
            end < len(words) and _is_in_word(words[end])
        ):
            return True
        at = words.find(name, at + 1)
    return False


def _is_in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _make_plain(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().translate(STRAIGHT)
    return " ".join(plain.split())


def rank_by_distinctiveness(weights: Mapping[str, float], common: Mapping[str, float]) -> list[str]:
    """Order attributes by how much more they weigh here than is common.

    Sorts by share * ln(share / common share), the terms of the Kullback-Leibler divergence.

    Args:
        weights: Weight of each attribute here.
        common: Mean share (0 to 1) of each attribute elsewhere. A name that is missing counts as
            half as common as the rarest.

    Returns:
        The names of `weights`, the most distinctive first.
    """
    total = sum(weights.values())
    rarest = min((share for share in common.values() if share > 0), default=1.0) / 2

    def measure_distinctiveness(name: str) -> float:
        share = weights[name] / total
        return share * log(share / (common.get(name) or rarest)) if share > 0 else 0.0

    return sorted(weights, key=lambda name: (-round(measure_distinctiveness(name), 9), name))


class Attribute(Term):
    """An attribute by its normalized name.

    Attributes:
        router: Nearest taste router; None if none was set.
        holders: How many distinct clients hold the attribute.
        users: How many of the holders are users.
        canonical: Existing attribute that this one was mapped to; None if it is canonical itself.
    """

    name: str
    router: int | None = None
    holders: int = 0
    users: int = 0
    canonical: str | None = None
