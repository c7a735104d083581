"""Plain English from names and counts; every sentence stays within a line's bound."""

import re
from collections.abc import Sequence

from propagation.model.attribute import normalised
from propagation.model.client import Client
from propagation.model.profile import LINE_MAX_WORDS

TITLE = re.compile("“([^”]*)”")
WORD = re.compile(r"[^\W\d_][\w'-]{3,}")
COMMON = frozenset([
    "about", "after", "also", "because", "been", "before", "between", "from", "have", "into", "more", "most", "other", "over",
    "some", "such", "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "through", "under",
    "very", "what", "when", "where", "which", "while", "will", "with", "your", "film", "movie", "story", "tells", "follows",
    "directed", "starring"])
SALIENT = 3


def listed(names: Sequence[str]) -> str:
    """"a", "a and b", "a, b and c"."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def quoted(title: str) -> str:
    """A title in quotation marks that it cannot itself contain."""
    return f"“{title.replace('“', chr(34)).replace('”', chr(34)).strip()}”"


def titles_in(text: str) -> list[str]:
    return TITLE.findall(text)


def bounded(text: str, words: int = LINE_MAX_WORDS) -> str:
    parts = text.split()
    return text if len(parts) <= words else " ".join(parts[:words]).rstrip(",;:") + " …"


def name_of(client: Client) -> str:
    return client.title or client.key.id


def salient(client: Client, count: int = SALIENT) -> list[str]:
    """A client's own attributes: those given, else its categories, else the long words of its text."""
    given = [name for raw in (*client.attributes, *client.categories) if (name := normalised(raw))]
    if not given:
        given = [word for raw in WORD.findall(f"{client.title} {client.description}") if (word := normalised(raw)) not in COMMON]
    return list(dict.fromkeys(given))[:count]
