"""Helpers of an erasure that every graph store needs.

Forgotten event ids are kept as hashes; the key is drawn with the first one and never leaves the
database. For a normalised name in a client's own text, a database finds a word of it, and the rest
is checked here.
"""

import secrets
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b

from propagation.model import normalize_name

KEY_BYTES, HASH_BYTES = 32, 16


def create_key() -> bytes:
    """Draw a key."""
    return secrets.token_bytes(KEY_BYTES)


def compute_event_hash(key: bytes, event_id: str) -> bytes:
    """Return the hash of an event id."""
    return blake2b(event_id.encode(), key=key, digest_size=HASH_BYTES).digest()


def find_ascii_word(name: str) -> str:
    """Return the longest word that every database case-folds alike.

    Returns:
        "" if there is none.
    """
    return max((part for part in name.split() if part.isascii()), key=len, default="")


def fold_words(words: Iterable[str]) -> list[str]:
    """Return words case-folded, each once.

    Of one beyond ASCII it is an ASCII word in it, or else its longest part without σ, which a text
    in lower case may write as ς.
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
    """Return letters that case folding treats unlike lower case, folded.

    ß is left out: the statements replace it. All of them are in the first plane of Unicode.
    """
    letters = (chr(code) for code in range(0xFFFF) if chr(code) not in "ßẞ")
    folded = ((letter, letter.casefold()) for letter in letters)
    return {letter: fold for letter, fold in folded if fold != letter.lower() or len(fold) > 1}


def list_special_letters(folded: Iterable[str]) -> list[str]:
    """Return letters that only case folding turns into letters of the words.

    A text in lower case that holds one may hold the word, though it is not found in it.
    """
    used = set[str]().union(*folded)
    return [letter for letter, fold in _fold_special_letters().items() if not used.isdisjoint(fold)]


def holds_name(texts: Iterable[str], name: str) -> bool:
    """Return whether one of the texts holds the name."""
    return any(name in " ".join(normalize_name(part) for part in text.split()) for text in texts)
