"""Plain English sentences from names and titles, bounded in words."""

import html
import re
from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

from propagation.adapters.offline.common_words import COMMON
from propagation.model import LINE_MAX_WORDS, Client, join_names, normalize_name

SALIENT = 3
TITLE_MAX_WORDS = 9
KEYWORD_MAX_CHARS = 24
CACHED = 16_384
WORD = re.compile(r"[^\W\d_](?:[^\W_]|['’-](?=\w)){3,}")
SEPARATORS = re.compile(r"\s*[|;>]\s*")
MOVED_ARTICLE = re.compile(
    r"^(?P<rest>.+), (?P<article>The|A|An|L'|Il|Lo|La|Le|Les|Un|Une|El|Los|Las|Das|Der|Die|Den|"
    r"Det|O|Os|De|Het)"
    r"(?P<year> \(\d{4}\))?$"
)


@lru_cache(CACHED)
def clean_title(title: str) -> str:
    """Write a title as a person would, in at most nine words.

    A moved article returns to the front: "Matrix, The" becomes "The Matrix".
    """
    text = " ".join(html.unescape(title).split())
    return shorten(MOVED_ARTICLE.sub(_with_article_first, text), TITLE_MAX_WORDS)


def _with_article_first(moved: re.Match[str]) -> str:
    space = "" if moved["article"].endswith("'") else " "
    return f"{moved['article']}{space}{moved['rest']}{moved['year'] or ''}"


def quote(title: str) -> str:
    """Put a title in curly quotation marks; those inside become straight."""
    return f"“{title.replace('“', chr(34)).replace('”', chr(34)).strip()}”"


def shorten(text: str, words: int = LINE_MAX_WORDS) -> str:
    """Cut a text to its first words.

    An ellipsis stands for the rest.
    """
    parts = text.split(None, words)
    return text if len(parts) <= words else " ".join(parts[:words]).rstrip(".,;:-&(") + "…"


def fit_titles(head: str, titles: Sequence[str], tail: str, words: int) -> str:
    """Append as many titles to `head` as fit into `words` words.

    Args:
        tail: The format of the appended part, with {} for the joined titles.

    Returns:
        `head` alone, if not even one title fits; it is cut to `words` words.
    """
    room = words - len(head.split())
    for count in range(len(titles), 0, -1):
        ending = tail.format(join_names(titles[:count]))
        if len(ending.split()) <= room:
            return head + ending
    return shorten(head, words)


def choose_variant(names: Sequence[str], count: int) -> int:
    """Choose one of `count` wordings of a statement about these names.

    The same names always get the same wording.

    Returns:
        The wording's place, from 0.
    """
    return crc32("|".join(names).encode()) % count


def list_names(client: Client, count: int = SALIENT) -> tuple[str, ...]:
    """Return a client's most salient attributes.

    They are its attributes, then its categories. A client without either has words of its title and
    description instead.
    """
    return _choose_names(client.attributes, client.categories, client.title, client.description)[
        :count
    ]


def write_names_in_sentence(client: Client, names: Sequence[str]) -> str:
    """Write names as the object of a sentence.

    If the names are only words of the client's text, the sentence says "things to do with" them.
    """
    joined = join_names(names)
    return joined if client.attributes or client.categories else f"things to do with {joined}"


@lru_cache(CACHED)
def _choose_names(
    attributes: tuple[str, ...], categories: tuple[str, ...], title: str, description: str
) -> tuple[str, ...]:
    given = [
        name
        for raw in (*attributes, *categories)
        for part in SEPARATORS.split(html.unescape(raw))
        if (name := normalize_name(part))
    ]
    keywords = (
        word
        for word in map(normalize_name, WORD.findall(html.unescape(f"{title} {description}")))
        if word not in COMMON and len(word) <= KEYWORD_MAX_CHARS
    )
    return tuple(dict.fromkeys(given or keywords))
