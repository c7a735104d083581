"""Checks of what callers send and data files contain.

Each raises InvalidInput with the field, the problem and the limit.
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import reduce

from propagation.errors import InvalidInput
from propagation.model.clients.client import ID_MAX_BYTES, LIST_MAX, TEXT_MAX_CHARS, ClientChange
from propagation.model.interactions.interaction import WEIGHT_MAX

ENTRY_MAX_CHARS = 256
LAST_SECOND = 253_370_764_800
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
SURROGATE = re.compile(r"[\ud800-\udfff]")
OUR_WORDS = {  # by regular expressions for pydantic's phrases
    "(Input|String) should": "must",
    "Value error, ": "",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "match pattern": "match",
    ", unable to .*": "",
    "^Field required": "is missing",
    "^invalid timezone: .*": "is not a time zone; give a name such as UTC or Europe/Berlin",
}


def describe_problem(message: str) -> str:
    """Rephrase a message of pydantic's in the words of our refusals."""
    return reduce(lambda text, phrase: re.sub(phrase, OUR_WORDS[phrase], text), OUR_WORDS, message)


def check_id(value: str, field: str) -> str:
    """Check that an id has an allowed length and characters.

    An id has 1 to 256 bytes of UTF-8 without control characters.

    Returns:
        The id.
    """
    # The fast way: a character has at most four bytes.
    if value and len(value) <= ID_MAX_BYTES // 4 and value.isprintable():
        return value
    if not value:
        raise InvalidInput(field, f"is empty; give 1 to {ID_MAX_BYTES} bytes of UTF-8")
    _refuse_surrogates(value, field)
    if len(value.encode()) > ID_MAX_BYTES:
        raise InvalidInput(field, f"is {len(value.encode())} bytes long; at most {ID_MAX_BYTES}")
    if CONTROL.search(value):
        raise InvalidInput(field, "holds a control character (a line break, a tab, ...); remove it")
    return value


def check_text(value: str, field: str) -> str:
    """Check a text, and return it.

    It has at most 8,000 characters of valid Unicode without U+0000; line breaks are allowed.
    """
    if len(value) > TEXT_MAX_CHARS:
        raise InvalidInput(field, f"is {len(value)} characters long; at most {TEXT_MAX_CHARS}")
    if "\0" in value:
        raise InvalidInput(field, "holds the character U+0000; remove it")
    _refuse_surrogates(value, field)
    return value


def check_list(values: Sequence[str], field: str) -> tuple[str, ...]:
    """Check a list of at most 64 short texts; return it."""
    if len(values) > LIST_MAX:
        raise InvalidInput(field, f"holds {len(values)} entries; at most {LIST_MAX}")
    return tuple(check_entry(value, f"{field}[{place}]") for place, value in enumerate(values))


def check_entry(value: str, field: str) -> str:
    """Check an attribute or a category, and return it.

    It is a text of 1 to 256 characters.
    """
    if not value.strip():
        raise InvalidInput(field, "is empty; leave it out")
    if len(value) > ENTRY_MAX_CHARS:
        raise InvalidInput(field, f"is {len(value)} characters long; at most {ENTRY_MAX_CHARS}")
    return check_text(value, field)


def check_metadata(metadata: Mapping[str, str], field: str) -> dict[str, str]:
    """Check the caller's own map, and return it.

    It has at most 64 entries, and all keys and values together pass `check_text`.
    """
    if len(metadata) > LIST_MAX:
        raise InvalidInput(field, f"holds {len(metadata)} entries; at most {LIST_MAX}")
    check_text("".join(part for entry in metadata.items() for part in entry), field)
    return dict(metadata)


def check_negative(item: str, negative: str | None, field: str) -> str | None:
    """Check that the negative is another item than the positive one.

    Returns:
        The negative.
    """
    if negative == item:
        raise InvalidInput(field, "is the item itself; name another item, or none")
    return negative


def check_weight(weight: float, field: str) -> float:
    """Check a weight: above 0, at most 10; return it."""
    if not math.isfinite(weight) or not 0 < weight <= WEIGHT_MAX:
        raise InvalidInput(field, f"is {weight}; give a number above 0 and at most {WEIGHT_MAX:g}")
    return weight


def check_seconds(seconds: float, field: str) -> None:
    """Check a time in seconds since 1970."""
    if not 0 <= seconds < LAST_SECOND:
        raise InvalidInput(field, "is outside of the years 1970 to 9998")


def check_client(client: ClientChange) -> ClientChange:
    """Check every field of a change that is set; return the change."""
    check_id(client.key.id, "id")
    check_text(client.title or "", "title")
    check_text(client.description or "", "description")
    check_list(client.attributes or (), "attributes")
    check_list(client.categories or (), "categories")
    check_metadata(client.metadata or {}, "metadata")
    return client


def _refuse_surrogates(value: str, field: str) -> None:
    # JSON can write half of a surrogate pair (\ud800), UTF-8 cannot.
    if not value.isascii() and SURROGATE.search(value):
        raise InvalidInput(
            field,
            "holds half of a surrogate pair (\\ud800 to \\udfff alone), which is not a character;"
            " remove it",
        )
