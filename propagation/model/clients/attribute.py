"""An attribute: one granular concept of a profile (RecNet 2.2.1, eq. 1)."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from math import log

from propagation.model.base import Term

NAME_MAX_CHARS = 120
TITLE = re.compile("“([^”]*)”")


def normalize_name(name: str) -> str:
    """NFKC, case folded, white space collapsed; "" when nothing is left."""
    return _plain(name)[:NAME_MAX_CHARS]


def names_in_text(names: Iterable[str], text: str) -> tuple[str, ...]:
    """Those of the normalised names that a text speaks of, as whole words and outside of the titles
    it quotes."""
    words = _plain(TITLE.sub(" ", text))
    return tuple(name for name in names if _is_said(name, words))


def _is_said(name: str, words: str) -> bool:
    """Not by a pattern: there would be one a name, and to compile it takes longer than all of this."""
    at = words.find(name)
    while at >= 0:
        end = at + len(name)
        if not (at and _in_word(words[at - 1])) and not (end < len(words) and _in_word(words[end])):
            return True
        at = words.find(name, at + 1)
    return False


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def rank_by_distinctiveness(weights: Mapping[str, float], common: Mapping[str, float]) -> list[str]:
    """The names of `weights`, those first that weigh more here than is common: by share * ln(share
    / common share), the terms of the divergence from what is common. A name that is not in `common`
    counts as half as common as the rarest."""
    total = sum(weights.values())
    rarest = min((share for share in common.values() if share > 0), default=1.0) / 2

    def apart(name: str) -> float:
        share = weights[name] / total
        return share * log(share / (common.get(name) or rarest)) if share > 0 else 0.0

    return sorted(weights, key=lambda name: (-round(apart(name), 9), name))


class Attribute(Term):
    """An attribute by its normalised name, the taste router it is nearest to, and how many distinct
    clients hold it. `canonical` names the existing attribute that it was mapped to; None where it
    is canonical itself."""

    name: str
    router: int | None = None
    holders: int = 0
    canonical: str | None = None
