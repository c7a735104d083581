"""Texts as people read them: entities unescaped, mark-up gone, lists split, entries bounded."""

import html
import re
from collections.abc import Collection, Iterable

from propagation.model.clients.client import LIST_MAX

TAGS = "a|b|br|div|em|font|h[1-6]|i|img|li|ol|p|span|strong|table|td|tr|u|ul"
MARKUP = re.compile(rf"\"?\s*/>\s*$|</?(?:{TAGS})\b[^<>]*(?:>|$)", re.IGNORECASE)
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
ENTITY_ROUNDS = 3
ENTRY_MAX_CHARS = 120


def cleaned(text: str) -> str:
    """One line of text; entities that were escaped twice are unescaped twice. "" when nothing is
    left."""
    for _ in range(ENTITY_ROUNDS):
        if (plain := html.unescape(text)) == text:
            break
        text = plain
    return " ".join(UNSEEN.sub(" ", MARKUP.sub(" ", text)).split())


def entries(parts: Iterable[str], placeholders: Collection[str] = ()) -> tuple[str, ...]:
    """Cleaned, each once, in order. `placeholders` (case folded): what this dataset writes for
    "none", left out."""
    found = (cleaned(part)[:ENTRY_MAX_CHARS].strip() for part in parts)
    return tuple(
        dict.fromkeys(part for part in found if part and part.casefold() not in placeholders)
    )[:LIST_MAX]


def split_list(
    text: str, separators: str = ";|", placeholders: Collection[str] = ()
) -> tuple[str, ...]:
    """The entries of a list written in one field. Unescaped first: an entity's own semicolon
    separates nothing."""
    return entries(re.split(f"[{re.escape(separators)}]", html.unescape(text)), placeholders)
