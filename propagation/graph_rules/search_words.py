"""Words of clients and of searches.

A search finds a client if each of its words begins one of the client's words.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from propagation.model import Client

WORDS_MAX = 256
WORD_MAX_CHARS = 64
# Letters and digits; anything else stands between two words.
WORD = re.compile(r"[^\W_]+")


def split_words(texts: Iterable[str]) -> Sequence[str]:
    """Split texts into distinct words, in their order.

    Texts are normalised (NFKC) and case folded. Format characters, such as direction marks and soft
    hyphens, do not count: they show nothing, and a word may hold them unnoticed.

    Returns:
        Words of at most WORD_MAX_CHARS characters; longer ones are cut.
    """
    found: dict[str, None] = {}
    for text in texts:
        plain = unicodedata.normalize("NFKC", text).casefold()
        if not plain.isascii():
            plain = "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")
        found.update(dict.fromkeys(word[:WORD_MAX_CHARS] for word in WORD.findall(plain)))
    return list(found)


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
