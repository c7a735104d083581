"""A forgotten client's own words in what others say: found, and where a sentence only quotes them,
left out of it."""

import html
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from propagation.model.clients.attribute import normalize_name

QUOTE = re.compile("“([^”]*)”")
WORD = re.compile(r"\w+")
BETWEEN = re.compile(r"\s*(,|and|, and)\s*")
LEAST_WORDS = 8
ARTICLES = frozenset(["a", "an", "the"])
MOVED_ARTICLE = re.compile(r", [A-Z][a-z]{0,2}'?(?: \(\d{4}\))?$")
MARKS = re.compile('[“”"]')
BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[“\"A-Z])")


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(normalised_text(text)) if word not in ARTICLES]


def normalised_text(text: str) -> str:
    """Entities resolved, NFKC, case folded, white space collapsed."""
    return " ".join(
        part
        for line in html.unescape(text).splitlines()
        for part in (normalised_line(line),)
        if part
    )


def normalised_line(line: str) -> str:
    """As `normalised`, of any length."""
    return " ".join(normalize_name(word) for word in line.split())


@dataclass(frozen=True)
class OwnWords:
    """The title of a client, and attributes that nobody else has."""

    title: str = ""
    names: frozenset[str] = frozenset()

    @cached_property
    def core(self) -> str:
        """The part of the title that is in every form it takes: without its article, its first
        words, up to a quotation mark."""
        whole = " ".join(MOVED_ARTICLE.sub("", html.unescape(self.title)).split())
        part = max(MARKS.split(whole), key=len).strip()
        words = part.split()[:LEAST_WORDS]
        return " ".join(words[1:] if len(words) > 1 and words[0].casefold() in ARTICLES else words)

    @cached_property
    def looked_for(self) -> frozenset[str]:
        """What every text that says one of them holds, in letters of either case."""
        return frozenset(word for word in (self.core, *self.names) if word)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_words(self.title))

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        return tuple(word.casefold() for word in self.looked_for)

    def quoted_in(self, quote: str) -> bool:
        """Whether a quotation is the title: whole, with its article moved, or its first words."""
        said = _words(quote)
        return (
            bool(self._words and said)
            and self._words.issuperset(said)
            and len(set(said)) >= min(len(self._words), LEAST_WORDS - 1)
        )

    def said_in(self, text: str, *, cites: bool = False) -> bool:
        """Whether a text holds the title or one of the names. A title of one word may be a word
        like any other: without quotation marks it counts in a text that `cites` the client, as it
        is written."""
        folded = text.casefold()
        if not any(map(folded.__contains__, self._folded)):
            return False
        if any(self.quoted_in(quote) for quote in QUOTE.findall(text)):
            return True
        plain = normalised_text(text)
        if len(self._words) > 1 and _holds(plain, normalised_text(self.title)):
            return True
        if cites and self.title.strip() and _holds(text, self.title.strip()):
            return True
        return any(_holds(plain, normalised_text(name)) for name in self.names)

    def left_out_of(self, text: str, *, cites: bool = False) -> str | None:
        """The sentence without quotations of the title; None where what is left still says it, or
        is no sentence."""
        quotes = list(QUOTE.finditer(text))
        gone = [quote for quote in quotes if self.quoted_in(quote[1])]
        if gone:
            text = _without(text, quotes, gone) or ""
        return None if not text or self.said_in(text, cites=cites) else text


def sentences(text: str) -> list[str]:
    """A text's sentences; what ends inside of a quotation ends none."""
    quotes = [quote.span() for quote in QUOTE.finditer(text)]
    cuts = [
        found.span()
        for found in BETWEEN_SENTENCES.finditer(text)
        if not any(start < found.start() < end - 1 for start, end in quotes)
    ]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def listed(names: Sequence[str]) -> str:
    """With commas, and an "and" before the last."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _holds(text: str, part: str) -> bool:
    """As whole words."""
    return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None


def _without(
    text: str, quotes: Sequence["re.Match[str]"], gone: Sequence["re.Match[str]"]
) -> str | None:
    """One list of quotations ends a sentence: the others stay; without others, what leads to them
    goes too."""
    between = [text[one.end() : other.start()] for one, other in itertools.pairwise(quotes)]
    if not all(BETWEEN.fullmatch(part) for part in between):
        return None
    left = [quote[0] for quote in quotes if quote not in gone]
    if left:
        return text[: quotes[0].start()] + listed(left) + text[quotes[-1].end() :]
    head = max(text.rfind(mark, 0, quotes[0].start()) for mark in ",:;.")
    return text[:head].rstrip(",:;. ") + "." if head > 0 else None
