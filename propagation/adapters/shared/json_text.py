"""What every store asks of strings: any Unicode but U+0000."""

from typing import Any

import orjson

from propagation.model.errors import InvalidInput


def without_nul(json: bytes) -> bytes:
    """The same JSON. Raises InvalidInput where a string in it holds U+0000."""
    if b"\\u0000" in json and _holds_nul(orjson.loads(json)):
        raise InvalidInput("text", "holds the character U+0000; remove it")
    return json


def _holds_nul(value: Any) -> bool:
    """Whether a string in it holds U+0000 (an escaped backslash before "u0000" looks the same in
    JSON)."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds_nul(part) for pair in value.items() for part in pair)
    return isinstance(value, (list, tuple)) and any(_holds_nul(part) for part in value)
