"""Cleaning of texts from web catalogues: entities, mark-up, lists."""

import html
import re
from collections.abc import Collection, Iterable

from propagation.model import LIST_MAX

TAGS = "a|b|br|div|em|font|h[1-6]|i|img|li|ol|p|span|strong|table|td|tr|u|ul"
MARKUP = re.compile(rf"\"?\s*/>\s*$|</?(?:{TAGS})\b[^<>]*(?:>|$)", re.IGNORECASE)
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
ENTITY_ROUNDS = 3
ENTRY_MAX_CHARS = 120


def cleaned(text: str) -> str:
    """Return the text as one line without entities and mark-up.

    Entities that were escaped twice are unescaped twice.
    """
    for _ in range(ENTITY_ROUNDS):
        if (plain := html.unescape(text)) == text:
            break
        text = plain
    return " ".join(CONTROL_CHARACTERS.sub(" ", MARKUP.sub(" ", text)).split())


def entries(parts: Iterable[str], placeholders: Collection[str] = ()) -> tuple[str, ...]:
    """Clean the entries of a list and keep each once, in order.

    Args:
        placeholders: Case-folded words that this dataset writes for "none"; they are left out.
    """
    found = (cleaned(part)[:ENTRY_MAX_CHARS].strip() for part in parts)
    return tuple(
        dict.fromkeys(part for part in found if part and part.casefold() not in placeholders)
    )[:LIST_MAX]


def split_list(
    text: str, separators: str = ";|", placeholders: Collection[str] = ()
) -> tuple[str, ...]:
    """Split a list that is written in one field into its entries."""
    # Unescaped first: the semicolon of an entity separates nothing.
    return entries(re.split(f"[{re.escape(separators)}]", html.unescape(text)), placeholders)
