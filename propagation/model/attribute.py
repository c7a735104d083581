"""An attribute: one granular concept of a profile (RecNet 2.2.1, eq. 1)."""

import unicodedata

from propagation.model.base import Term

NAME_MAX_CHARS = 120


def normalised(name: str) -> str:
    """NFKC, case folded, white space collapsed; "" when nothing is left."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())[:NAME_MAX_CHARS]


class Attribute(Term):
    """A canonical attribute, the router of its bank it belongs to, and how many distinct clients hold it."""

    name: str
    router: int | None = None
    holders: int = 0
