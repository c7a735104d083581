"""Whether a client's own text holds a normalised name: a database finds a word, the rest is asked
here."""

from collections.abc import Iterable

from propagation.model.clients.attribute import normalize_name


def ascii_word(name: str) -> str:
    """The longest word of a name whose case every database folds alike; "" where there is none."""
    return max((part for part in name.split() if part.isascii()), key=len, default="")


def says(texts: Iterable[str], name: str) -> bool:
    return any(name in " ".join(normalize_name(part) for part in text.split()) for text in texts)
