"""Name matching: finds words that name a client in other clients' texts.

A sentence that only quotes them is kept without the quotation.
"""

import html
import itertools
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from propagation.model import TITLE, Client, group_pairs, join_names, normalize_name

WORD = re.compile(r"\w+")
BETWEEN = re.compile(r"\s*(,|and|, and)\s*")
LEAST_WORDS = 8
ARTICLES = frozenset(["a", "an", "the"])
MOVED_ARTICLE = re.compile(r", [A-Z][a-z]{0,2}'?(?: \(\d{4}\))?$")
MARKS = re.compile('[“”"]')
SERVICE_WORDS = frozenset(
    WORD.findall(
        "a above again agree all among and any are around as ask asks at audience be bear "
        "besides by category choice choices choose chooses chose chosen comes communities "
        "community described did do drawn else enjoy enjoys favourite first fit fits fitted "
        "fond for foreseen found from had has have heard holds in interest is it its keep keeps "
        "lately latest leave less let liked liking listed look looking looks lovers loves made "
        "making met more most newest news no not nothing now of often on once one other others "
        "out over overlooked passed passes passion people picks profile promised put reaches "
        "reader readers recently regularly returning rightly router rules say saying says shape "
        "share shares single some someone something speaks spoke stays steady still such taker "
        "takers taking taste that the their them then there these they things this those to too "
        "tried turning two under wary was weigh welcome well what which while who with word "
        "written yet"
    )
)
"""Words of the sentences that the offline reasoner writes: they name no client."""
SERVICE_MARKS = frozenset(" .,:;!?&()[]/\"'“”‘’-–—…")
"""Punctuation of these sentences: an attribute of nothing else names no client."""
BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[“\"A-Z])")


def _split_words(text: str) -> list[str]:
    return [word for word in WORD.findall(normalize_text(text)) if word not in ARTICLES]


def normalize_text(text: str) -> str:
    """Resolve entities; then normalize each word like an attribute's name."""
    words = [normalize_name(word) for word in html.unescape(text).split()]
    return " ".join(word for word in words if word)


@dataclass(frozen=True)
class _Title:
    """A title in the forms in which texts quote it."""

    title: str

    @cached_property
    def core(self) -> str:
        """The part of the title that all its forms contain.

        It is the longest part between quotation marks: at most its first eight words, without an
        article.
        """
        whole = " ".join(MOVED_ARTICLE.sub("", html.unescape(self.title)).split())
        part = max(MARKS.split(whole), key=len).strip()
        words = part.split()[:LEAST_WORDS]
        return " ".join(words[1:] if len(words) > 1 and words[0].casefold() in ARTICLES else words)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_split_words(self.title))

    def is_quoted(self, quote: str) -> bool:
        """Tell whether a quotation is the title.

        It is if all of its words are words of the title, and it has all words of the title, or
        seven of them. Articles do not count.
        """
        quoted = frozenset(_split_words(quote))
        return (
            bool(self._words and quoted)
            and self._words.issuperset(quoted)
            and len(quoted) >= min(len(self._words), LEAST_WORDS - 1)
        )

    def is_in(self, text: str, plain: str, *, cites: bool) -> bool:
        """Tell whether a text holds the title without quotation marks.

        Args:
            plain: The text as normalize_text returns it.
            cites: As in OwnWords.is_in.
        """
        if len(self._words) > 1 and _holds_words(plain, normalize_text(self.title)):
            return True
        return cites and bool(self.title.strip()) and _holds_words(text, self.title.strip())


@dataclass(frozen=True)
class OwnWords:
    """Words that name a client.

    Attributes:
        titles: Its title, and those that it had before.
        names: Attributes that no other client has.
    """

    titles: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    @cached_property
    def _titles(self) -> tuple[_Title, ...]:
        return tuple(map(_Title, sorted(self.titles)))

    @cached_property
    def search_words(self) -> frozenset[str]:
        """Case-folded phrases of which every text that names the client holds one."""
        cores = (title.core for title in self._titles)
        return frozenset(word.casefold() for word in (*cores, *self._telling_names) if word)

    @cached_property
    def _telling_names(self) -> frozenset[str]:
        """Names with a word or sign that the service never writes."""
        return frozenset(filter(_is_telling, self.names))

    def is_quoted(self, quote: str) -> bool:
        """Tell whether a quotation is one of the titles."""
        return any(title.is_quoted(quote) for title in self._titles)

    def is_in(self, text: str, *, cites: bool = False) -> bool:
        """Tell whether a text holds one of the titles or names.

        Args:
            cites: The text cites the client. A title of one word may be a common word: without
                quotation marks it counts only in such a text, and only in its own spelling.
        """
        folded = text.casefold()
        if not any(map(folded.__contains__, self.search_words)):
            return False
        if any(self.is_quoted(quote) for quote in TITLE.findall(text)):
            return True
        plain = normalize_text(text)
        if any(title.is_in(text, plain, cites=cites) for title in self._titles):
            return True
        # A quotation is another client's title: it may hold the same word as a part.
        unquoted = normalize_text(
            TITLE.sub(
                lambda quote: quote[0] if normalize_text(quote[1]) in self.names else " ", text
            )
        )
        return any(_holds_words(unquoted, normalize_text(name)) for name in self._telling_names)

    def leave_out(self, text: str, *, cites: bool = False) -> str | None:
        """Drop quotations of the titles from a sentence.

        Returns:
            The sentence; None if it still names the client, or is no sentence any more.
        """
        quotes = list(TITLE.finditer(text))
        own = [quote for quote in quotes if self.is_quoted(quote[1])]
        if own:
            text = _drop_quotes(text, quotes, own) or ""
        return None if not text or self.is_in(text, cites=cites) else text


@lru_cache(1 << 16)
def _is_telling(name: str) -> bool:
    words = WORD.findall(name)
    return not SERVICE_WORDS.issuperset(words) if words else not SERVICE_MARKS.issuperset(name)


def list_titles(contents: Iterable[Client]) -> dict[int, frozenset[str]]:
    """Group, by ref, the titles that clients have or had.

    Clients without a title are left out.
    """
    found = group_pairs((client.ref, client.title) for client in contents if client.title)
    return {ref: frozenset(titles) for ref, titles in found.items()}


def names_one(text: str, attributes: Iterable[str], names: Collection[str]) -> bool:
    """Tell whether a text holds a name or has one as attribute.

    Args:
        names: Names to look for. The text is searched in either case of letters, also for parts of
            words. Among the attributes, only a normalised name is found.
    """
    folded = text.casefold()
    return not {*attributes}.isdisjoint(names) or any(name.casefold() in folded for name in names)


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences.

    A full stop inside a quotation does not end a sentence.
    """
    quotes = [quote.span() for quote in TITLE.finditer(text)]
    cuts = [
        found.span()
        for found in BETWEEN_SENTENCES.finditer(text)
        if not any(start < found.start() < end - 1 for start, end in quotes)
    ]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _holds_words(text: str, part: str) -> bool:
    """Tell whether a text holds a part as whole words.

    Scripts without spaces do not show where a word ends.
    """
    start = "" if _is_without_spaces(part[:1]) else r"(?<![^\W_])"
    end = "" if _is_without_spaces(part[-1:]) else r"(?![^\W_])"
    return re.search(start + re.escape(part) + end, text) is not None


def _is_without_spaces(letter: str) -> bool:
    """Tell whether a letter belongs to a script that writes no spaces.

    Chinese and Thai are such scripts. Some scripts that do write spaces count as well.
    """
    return bool(letter) and unicodedata.category(letter) == "Lo"


def _drop_quotes(
    text: str, quotes: Sequence["re.Match[str]"], dropped: Sequence["re.Match[str]"]
) -> str | None:
    """Drop quotations from a sentence that ends with a list of them.

    If none remain, the words that lead to the list go too.

    Returns:
        The sentence; None if other words stand between the quotations, or nothing remains.
    """
    between = [text[one.end() : other.start()] for one, other in itertools.pairwise(quotes)]
    if not all(BETWEEN.fullmatch(part) for part in between):
        return None
    kept = [quote[0] for quote in quotes if quote not in dropped]
    if kept:
        return text[: quotes[0].start()] + join_names(kept) + text[quotes[-1].end() :]
    head = max(text.rfind(mark, 0, quotes[0].start()) for mark in ",:;.")
    return text[:head].rstrip(",:;. ") + "." if head > 0 else None
