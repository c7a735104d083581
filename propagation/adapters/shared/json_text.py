"""Strings as they are written in stored JSON: no U+0000, and words to search for."""

from collections.abc import Iterable
from typing import Any

import orjson

from propagation.model import InvalidInput


def escape_words(words: Iterable[str]) -> list[str]:
    """Return words as they are written inside JSON strings, in order."""
    return [orjson.dumps(word)[1:-1].decode() for word in sorted(words)]


def without_nul(json: bytes) -> bytes:
    """Return the same JSON.

    Raises:
        InvalidInput: A string in it holds U+0000.
    """
    if b"\\u0000" in json and _holds_nul(orjson.loads(json)):
        raise InvalidInput("text", "holds the character U+0000; remove it")
    return json


def _holds_nul(value: Any) -> bool:
    """Return whether a string holds U+0000.

    In JSON an escaped backslash before "u0000" looks the same.
    """
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds_nul(part) for pair in value.items() for part in pair)
    return isinstance(value, (list, tuple)) and any(_holds_nul(part) for part in value)
