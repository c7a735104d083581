"""Refuses U+0000 in JSON, and escapes words to search for in JSON."""

import re
from collections.abc import Iterable

import orjson

from propagation.model import InvalidInput

# Pairs of backslashes before \u0000 are escaped backslashes; one more would escape its backslash.
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def escape_words(words: Iterable[str]) -> list[str]:
    """Return the sorted words as they are written inside JSON strings."""
    return [orjson.dumps(word)[1:-1].decode() for word in sorted(words)]


def remove_nul(json: bytes) -> bytes:
    """Return the JSON unchanged, or refuse it if it holds U+0000.

    Raises:
        InvalidInput: A string in it holds U+0000.
    """
    if b"\\u0000" in json and NUL.search(json):  # searched for first, as that is faster
        raise InvalidInput("text", "holds the character U+0000; remove it")
    return json
