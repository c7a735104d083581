"""The search for texts that cite something.

It decides which lines and rules match, and at which version the search of a client ends.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from propagation.model import Citations, CitationSearch, FilterRule, Line, group_pairs

ENDLESS = 1 << 62
"""Stands for the last version of a search of all versions."""
Cited = tuple[frozenset[str] | None, list[str]]
"""Attributes with which a message is cited (None: with any), and words for lines that cite it."""
Written = tuple[int | None, int | None, bool]
"""The first and the last version of a client written at a sequence, and whether late.

Late means that the interaction of the sequence was reasoned late: its texts stand at another
sequence, and move if the interaction there is erased.
"""
NOT_WRITTEN: Written = (None, None, False)


class CitationMatcher:
    """Tells whether lines and rules cite what searches name.

    All searches are matched at once: a line may match by what only another client's search names.
    The words for rules differ by client, so they are an argument of `match_rule`.
    """

    def __init__(self, searches: Iterable[CitationSearch]) -> None:
        citings = _list_citations(searches)
        self._sequences = frozenset[int]().union(*(one.sequences for one in citings))
        self._words = _fold_sets(one.words for one in citings)
        self._router_words = {
            router: _fold_sets(sets)
            for router, sets in group_pairs(
                pair for one in citings for pair in one.router_words.items()
            ).items()
        }
        self._messages: Mapping[tuple[int, int | None], Sequence[Cited]] = group_pairs(
            (key, (names, _fold_sets([one.message_words])))
            for one in citings
            for key, names in one.messages.items()
        )

    def match_line(self, line: Line) -> tuple[bool, bool]:
        """Tell whether a line cites what the searches name.

        Returns:
            Whether the line does; and whether it cites one of the messages, about any attribute.
        """
        folded = "\n".join((line.text, *line.attributes)).casefold()
        cites_sequence, cited = False, list[Cited]()
        for source in line.sources:  # a plain loop, because most lines have many sources
            cites_sequence |= source.sequence in self._sequences
            if source.router is not None:
                cited += self._messages.get((source.router, source.version), ())
        cites = (
            cites_sequence
            or _holds(folded, self._words)
            or any(
                names is None or not names.isdisjoint(line.attributes) or _holds(folded, words)
                for names, words in cited
            )
        )
        return cites, bool(cited)

    def match_rule(self, rule: FilterRule, words: Collection[str]) -> bool:
        """Tell whether a rule cites what the searches name.

        Args:
            words: What `list_rule_words` returns for the searches of its client.
        """
        folded = f"{rule.text}\n{rule.attribute or ''}".casefold()
        of_router = () if rule.router is None else self._router_words.get(rule.router, ())
        return not self._sequences.isdisjoint((*rule.evidence, rule.age)) or any(
            _holds(folded, some) for some in (self._words, words, of_router)
        )


def list_rule_words(searches: Iterable[CitationSearch]) -> list[str]:
    """Return the words, case-folded, that searches look for in any rule."""
    return _fold_sets(one.rule_words for one in _list_citations(searches))


class VersionsToSearch:
    """The versions of one client that its searches read, in ascending order.

    A citation that left a text does not come back. So a search ends at a version that cites
    nothing, unless a withdrawal rewrote it: it may have lost a citation that later versions have.

    Attributes:
        next: The next version to read; None: the searches have ended.
    """

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        """Begin before the first span.

        Args:
            spans: What `find_spans` returns.
        """
        self._spans = sorted(spans, reverse=True)
        self._last = 0
        self.next = self._spans[-1][0] if self._spans else None

    def go_on(self, version: int, *, may_cite: bool) -> bool:
        """Go on after a version.

        Args:
            may_cite: Whether this version cites something, or a later one may.

        Returns:
            Whether the next version to read directly follows this one.
        """
        while self._spans and self._spans[-1][0] <= version:
            self._last = max(self._last, self._spans.pop()[1])
        if may_cite or version < self._last:
            self.next = version + 1
        else:
            self.next = self._spans[-1][0] if self._spans else None
        return self.next == version + 1


def find_spans(
    searches: Iterable[CitationSearch], written: Mapping[int, Written], after_gap: int | None
) -> list[tuple[int, int]]:
    """Find the spans of versions that one client's searches must read.

    Args:
        written: The client's versions that were written at each sequence.
        after_gap: The version after the last one that is no longer stored; None if all are stored.
            Citations of versions that retention dropped may stand in the versions that remain.

    Returns:
        Spans of the first version to read, and the version up to which to read at least.
    """
    spans = []
    for search in searches:
        if search.from_version is not None:
            spans.append((search.from_version, search.from_version))
        elif search.at_sequence is None:
            spans.append((0, ENDLESS))
        else:
            first, last, late = written.get(search.at_sequence, NOT_WRITTEN)
            if late:
                spans.append((0, ENDLESS))
            elif first is not None and last is not None:
                spans.append((first, last))
            if after_gap is not None:
                spans.append((0, after_gap))
    return spans


def _list_citations(searches: Iterable[CitationSearch]) -> list[Citations]:
    """Return the citations that searches name, each once: many searches share one."""
    distinct = {id(search.citations): search.citations for search in searches}
    return [citations for citations in distinct.values() if citations is not None]


def _fold_sets(sets: Iterable[frozenset[str]]) -> list[str]:
    """Return the case-folded words of all sets."""
    distinct = {id(words): words for words in sets}  # most are the same object
    return sorted(frozenset[str]().union(*map(_fold_set, distinct.values())))


@lru_cache(4_096)
def _fold_set(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(str.casefold, words))


def _holds(text: str, words: Collection[str]) -> bool:
    return any(map(text.__contains__, words))
