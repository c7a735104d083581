"""Words of clients and of searches.

A search finds a client if each of its words begins one of the client's words.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from propagation.model import Client

RULES = 1
"""Number of the rules in this file: raise it with each change that gives a text other words."""
WORDS_MAX = 256
WORD_MAX_CHARS = 64
# Letters and digits; anything else stands between two words.
ASCII_WORD = re.compile(r"[^\W_]+", re.ASCII)
# Marks that show nothing by themselves, or change a letter: format characters and accents.
LEFT_OUT = ("Cf", "Mn", "Me")


def name_word_rules() -> str:
    """Name the rules that make words, with the version of Unicode's tables.

    A database keeps the name of those that made its words, and makes them anew if it differs.
    """
    return f"{RULES}, Unicode {unicodedata.unidata_version}"


def split_words(texts: Iterable[str]) -> Sequence[str]:
    """Split texts into distinct words, in their order.

    Texts are normalised (NFKD) and case folded. Format characters, such as direction marks and soft
    hyphens, do not count: they show nothing, and a word may hold them unnoticed. Nor do accents and
    vowel signs above or below a letter: many who search leave them out.

    Returns:
        Words of at most WORD_MAX_CHARS characters; longer ones are cut.
    """
    found: dict[str, None] = {}
    for text in texts:
        words = ASCII_WORD.findall(text.lower()) if text.isascii() else _split_any(text)
        found.update(dict.fromkeys(word[:WORD_MAX_CHARS] for word in words))
    return list(found)


def _split_any(text: str) -> Sequence[str]:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(map(_spell, plain)).split()


def _spell(letter: str) -> str:
    """Return a letter or digit, nothing for a mark, else a space."""
    category = unicodedata.category(letter)
    if category in LEFT_OUT:
        return ""
    # A vowel sign that takes a place of its own (Mc) is a part of its word.
    return letter if category[0] in "LN" or category == "Mc" else " "


def list_search_words(
    id_: str, title: str, attributes: Sequence[str], categories: Sequence[str]
) -> Sequence[str]:
    """List the words by which a client is found, sorted.

    They are those of its id, title, attributes and categories, in this order: at most WORDS_MAX.
    """
    return sorted(split_words((id_, title, *attributes, *categories))[:WORDS_MAX])


def list_words_of(client: Client) -> Sequence[str]:
    """List the words by which a client is found; see `list_search_words`."""
    return list_search_words(client.key.id, client.title, client.attributes, client.categories)


def holds_words(words: Sequence[str], texts: Iterable[str]) -> bool:
    """Tell whether each word begins a word of the texts."""
    whole = "\n".join(texts)
    if whole.isascii():  # most texts hold none of the words, and this is soon seen
        plain = whole.lower()
        if not all(word in plain for word in words):
            return False
    held = split_words([whole])
    return all(any(one.startswith(word) for one in held) for word in words)
