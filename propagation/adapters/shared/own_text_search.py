"""The search for a normalised name in a client's own text.

A database finds a word of it; the rest is checked here.
"""

from collections.abc import Iterable

from propagation.model.clients.attribute import normalize_name


def ascii_word(name: str) -> str:
    """Return the longest word that every database case-folds alike; "" if there is none."""
    return max((part for part in name.split() if part.isascii()), key=len, default="")


def says(texts: Iterable[str], name: str) -> bool:
    """Return whether one of the texts holds the name."""
    return any(name in " ".join(normalize_name(part) for part in text.split()) for text in texts)
