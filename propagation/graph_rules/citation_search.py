"""The search for texts that cite something.

Here is what matches, and where the search of a client ends.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from propagation.grouping import group_pairs
from propagation.model import Citations, CitationSearch, FilterRule

ENDLESS = 1 << 62
"""Stands for the last version of a search of all versions."""
MessageWords = tuple[frozenset[str] | None, list[str]]
"""Attributes or words of which a line that cites a message holds one; None: any line cites it."""


class RuleWords:
    """Words that the searches of one client look for in its rules.

    Attributes:
        of_any: Words in any rule, case-folded.
        of_router: By router, words in rules on it.
    """

    def __init__(self, citings: Iterable[Citations]) -> None:
        known = list(citings)
        self.of_any = _fold_sets(one.rule_words for one in known)
        by_router = group_pairs(pair for one in known for pair in one.router_words.items())
        self.of_router: Mapping[int | None, list[str]] = {
            router: _fold_sets(sets) for router, sets in by_router.items()
        }


class CitationMatcher:
    """Tells whether lines and rules cite what searches name.

    All searches are matched at once: a line may cite what only another client's search names.
    """

    def __init__(self, citings: Iterable[Citations]) -> None:
        distinct = {id(citations): citations for citations in citings}.values()
        self._sequences = frozenset[int]().union(*(one.sequences for one in distinct))
        self._words = _fold_sets(one.words for one in distinct)
        self._messages: dict[tuple[int, int], list[MessageWords]] = {}
        for one in distinct:
            words = _fold_sets([one.message_words])
            for key, names in one.messages.items():
                self._messages.setdefault(key, []).append((names, words))

    def match_line(
        self, text: str, attributes: Sequence[str], sources: Iterable[Sequence[int | None]]
    ) -> tuple[bool, bool]:
        """Tell whether a line cites what the searches name.

        Args:
            sources: Sequence, router and version of each.

        Returns:
            Whether it does, and whether it cites one of the messages with any attribute.
        """
        cites = False
        cited: list[MessageWords] = []
        for sequence, router, version in sources:
            if sequence in self._sequences:
                cites = True
            elif router is not None and version is not None:
                cited += self._messages.get((router, version), ())
        if not cites and (cited or self._words):
            folded = "\n".join((text, *attributes)).casefold()
            cites = _holds(folded, self._words) or any(
                names is None or not names.isdisjoint(attributes) or _holds(folded, words)
                for names, words in cited
            )
        return cites, bool(cited)

    def match_rule(self, rule: FilterRule, words: RuleWords) -> bool:
        """Tell whether a rule cites.

        Args:
            words: Those that the searches of its client name.
        """
        text = f"{rule.text}\n{rule.attribute or ''}".casefold()
        return (
            not self._sequences.isdisjoint((*rule.evidence, rule.age))
            or _holds(text, self._words)
            or _holds(text, words.of_any)
            or _holds(text, words.of_router.get(rule.router, ()))
        )


class VersionsToSearch:
    """The versions of one client that its searches read, in ascending order.

    A citation that left a text does not come back. So a search ends at a version that cites
    nothing, unless a withdrawal rewrote it: it may have lost a citation that later versions have.

    Attributes:
        next: The first version to read next; None: the searches have ended.
    """

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        """Begin before the first span.

        Args:
            spans: What `find_span` returns for each search, without None.
        """
        self._spans = sorted(spans, reverse=True)
        self._last = 0
        self.next = self._spans[-1][0] if self._spans else None

    def go_on(self, version: int, *, may_cite: bool) -> bool:
        """Go on after a version.

        Args:
            may_cite: Whether this version cites, or a later one may.

        Returns:
            Whether the version that follows this one is the next to read.
        """
        while self._spans and self._spans[-1][0] <= version:
            self._last = max(self._last, self._spans.pop()[1])
        if may_cite or version < self._last:
            self.next = version + 1
        else:
            self.next = self._spans[-1][0] if self._spans else None
        return self.next == version + 1


def find_span(
    search: CitationSearch, written: tuple[int, int] | None, *, late: bool
) -> tuple[int, int] | None:
    """Return between which versions a search must read.

    Args:
        written: The first and the last version that were written at its sequence, if any.
        late: The interaction of its sequence was reasoned late: its texts were written at the
            sequence of another one, and have moved if that was erased.

    Returns:
        The first version that it reads, and the one to which it reads at least; None if no version
        was written.
    """
    if search.from_version is not None:
        return search.from_version, search.from_version
    return written if search.at_sequence is not None and not late else (0, ENDLESS)


def _fold_sets(sets: Iterable[frozenset[str]]) -> list[str]:
    """Return the case-folded words of all sets."""
    distinct = {id(words): words for words in sets}  # most are the same object
    return sorted(frozenset[str]().union(*map(_fold_set, distinct.values())))


@lru_cache(4_096)
def _fold_set(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(str.casefold, words))


def _holds(text: str, words: Collection[str]) -> bool:
    return any(map(text.__contains__, words))
