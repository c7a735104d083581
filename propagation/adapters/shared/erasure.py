"""Helpers of an erasure that every graph store needs.

Forgotten event ids are kept as hashes. Their key is drawn when the first one is stored, and never
leaves the database. To find a normalised name in a client's own text, the database searches for one
word of the name, and `holds_name` checks the whole name.
"""

import secrets
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b

from propagation.model import normalize_name

KEY_BYTES, HASH_BYTES = 32, 16


def create_key() -> bytes:
    """Draw a random key for the hashes of event ids."""
    return secrets.token_bytes(KEY_BYTES)


def compute_event_hash(key: bytes, event_id: str) -> bytes:
    """Return the hash of an event id."""
    return blake2b(event_id.encode(), key=key, digest_size=HASH_BYTES).digest()


def find_ascii_word(name: str) -> str:
    """Return the longest ASCII word of a name.

    Every database case-folds ASCII alike.

    Returns:
        The word; "" if there is none.
    """
    return max((part for part in name.split() if part.isascii()), key=len, default="")


def fold_words(words: Iterable[str]) -> list[str]:
    """Return case-folded words to search for, each once.

    A word with letters beyond ASCII is replaced by the longest ASCII word in it. If there is none,
    its longest part without σ is taken, because a text in lower case may have ς in place of σ.
    """
    folded = [word.casefold() for word in words]
    return sorted(
        {
            word if word.isascii() else find_ascii_word(word) or max(word.split("σ"), key=len)
            for word in folded
        }
    )


@cache
def _fold_special_letters() -> dict[str, str]:
    """Map letters whose case folding differs from lower case to their folding.

    ß is left out, because the statements replace it. All such letters are in the first plane of
    Unicode.
    """
    letters = (chr(code) for code in range(0xFFFF) if chr(code) not in "ßẞ")
    folded = ((letter, letter.casefold()) for letter in letters)
    return {letter: fold for letter, fold in folded if fold != letter.lower() or len(fold) > 1}


def list_special_letters(folded: Iterable[str]) -> list[str]:
    """Return letters that only case folding turns into letters of the words.

    A search in lower-cased texts misses a word that is written with such a letter.

    Args:
        folded: Case-folded words.
    """
    used = set[str]().union(*folded)
    return [letter for letter, fold in _fold_special_letters().items() if not used.isdisjoint(fold)]


def holds_name(texts: Iterable[str], name: str) -> bool:
    """Return whether one of the texts contains the normalised name."""
    return any(name in " ".join(normalize_name(part) for part in text.split()) for text in texts)
