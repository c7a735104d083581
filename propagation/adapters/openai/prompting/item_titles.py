"""Finds which item a description names."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from functools import lru_cache

UNSPACED = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Letters of scripts that put no spaces between words, from Thai to Chinese."""
WORD = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
JAPANESE = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}
PARTS = re.compile(r"[():;|/]|\s[-–—]\s|\sor\s")
NO_CONTENT = frozenset(["the", "and", "aka", "der", "die", "das", "und", "les", "los", "las"])
KINDS = frozenset(["a", "an", "item", "movie", "film", "song", "album", "book", "game", "product"])
CONTENT_LETTERS, LONG_WORD, ALIKE = 3, 5, 0.8
SHORTEST_TITLE = 4
"""Shorter titles may stand in any text by chance."""


def find_main_title(shown: str) -> str:
    """Return a title without brackets, but for those it begins with."""
    return (shown[:1] + shown[1:].partition("(")[0]).strip(" ,:;-")


def find_named_title(text: str, shown: str, others: Collection[str] = ()) -> str | None:
    """Find which item a text is about.

    Of the item's own title half of the words are enough, or most words of a part of it, or of what
    it is also known as in brackets. If the text names another item, too, the own title's first word
    must stand outside of the other's. Other titles count only as they are written: matched loosely,
    they would accuse good texts.

    Args:
        shown: The item's own title, as the prompt shows it.
        others: Main titles of other items.

    Returns:
        `shown`, also if the text cannot tell, as it is in another script; the other title that it
        names instead; None if it names none.
    """
    named = [other for other in others if has_exactly(text, other)]
    if not named and not can_tell(text, shown):
        return shown
    rest = _compose(text)
    for other in sorted(named, key=len, reverse=True):
        rest = re.sub(re.escape(_compose(other)), " ", rest, flags=re.IGNORECASE)
    if _names_own(rest, shown, with_first=bool(named)):
        return shown
    return named[0] if named else None


def is_bare_title(text: str, shown: str) -> bool:
    """Return whether a text says nothing but an item's title.

    The title may be misspelt. A text of an item without one says more.
    """
    said = {word for word in split_words(text) if not word.isdigit()}
    title = split_words(shown)
    return bool(title) and all(
        len(word) > CONTENT_LETTERS and get_close_matches(word, title, 1, ALIKE)
        for word in said - {*title} - NO_CONTENT - KINDS
    )


def has_exactly(text: str, title: str) -> bool:
    """Return whether a text has a title as it is written.

    Several words may be in any case. A single one in lower case may be no title: heat, it.
    """
    return _build_title_pattern(title).search(_compose(text)) is not None


@lru_cache(4096)
def _build_title_pattern(title: str) -> re.Pattern[str]:
    whole = rf"(?<![A-Za-z0-9]){re.escape(_compose(title))}(?![A-Za-z0-9])"
    return re.compile(whole, re.IGNORECASE if " " in title.strip() else re.NOFLAG)


def _compose(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def can_tell(text: str, title: str) -> bool:
    """Return whether a text is in the script of a title."""
    scripts = _find_script(title), _find_script(text)
    return bool(WORD.search(title)) and (None in scripts or scripts[0] == scripts[1])


def _find_script(text: str) -> str | None:
    """Return the script of most letters; None without letters."""
    if text.isascii():
        return "LATIN" if any(map(str.isalpha, text)) else None
    names = (unicodedata.name(one, "").split(" ")[0] for one in text if one.isalpha())
    counts = Counter(JAPANESE.get(name, name) for name in names)
    return max(counts, key=lambda name: counts[name]) if counts else None


def _names_own(text: str, shown: str, *, with_first: bool) -> bool:
    plain = _plain(text)
    said = WORD.findall(plain)
    whole, *parts = _list_names(_plain(shown))
    for name in (whole, *parts):
        words = WORD.findall(name)
        content = [word for word in words if has_content(word)]
        found = [_is_said(word, plain, said) for word in content or words]
        enough = 2 * sum(found) >= len(found) if name == whole else 2 * sum(found) > len(found)
        if not content:
            enough = all(found)
        if found and enough and (found[0] or not with_first):
            return True
    return False


def _list_names(title: str) -> Iterator[str]:
    """List an item's names: its main title, and the parts with letters."""
    main = find_main_title(title)
    yield main
    for part in PARTS.split(title):
        if any(map(str.isalpha, part)) and any(map(has_content, WORD.findall(part))):
            yield part
    head = main.partition(",")[0]
    if sum(map(has_content, WORD.findall(head))) > 1:
        yield head


def _plain(text: str) -> str:
    """Return a text in lower case, without accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(one for one in decomposed if unicodedata.category(one)[0] != "M")


def split_words(text: str) -> list[str]:
    """Split a text into words in lower case, without accents."""
    return WORD.findall(_plain(text))


def has_content(word: str) -> bool:
    """Return whether a word sets a title or a name apart."""
    long_enough = len(word) >= CONTENT_LETTERS or not word.isalpha()
    return word not in NO_CONTENT and (long_enough or re.match(f"[{UNSPACED}]", word) is not None)


def _is_said(word: str, text: str, said: Collection[str]) -> bool:
    """Return whether a text has a word, which may be inflected."""
    if re.match(f"[{UNSPACED}]", word):
        return word in text
    return word in said or (
        len(word) >= LONG_WORD and bool(get_close_matches(word, said, 1, ALIKE))
    )
