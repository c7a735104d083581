"""Reads the stored versions of one client's text, and searches them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from propagation.adapters.shared.reason_rows import build_line, build_rule
from propagation.graph_rules import CitationMatcher, VersionsToSearch, list_rule_words
from propagation.model import (
    CitationSearch,
    ClientText,
    FilterMemory,
    FilterRule,
    Line,
    Profile,
    StoredText,
)


class VersionReader:
    """Reads and searches the versions of one client, in ascending order.

    A line or rule that stays from one version to the next is built and searched once, and stays the
    same object.

    Attributes:
        versions: The versions that are still to be read.
    """

    def __init__(
        self,
        searches: Sequence[CitationSearch],
        spans: Iterable[tuple[int, int]],
        matcher: CitationMatcher,
    ) -> None:
        """Read nothing yet; the first version is the next one to read.

        Args:
            searches: All searches of one client.
            spans: Ranges of version numbers to read, as `find_spans` returns them.
            matcher: Matches the searches of all clients.
        """
        self.versions = VersionsToSearch(spans)
        self._searches = searches
        self._matcher = matcher
        self._rule_words = list_rule_words(searches)
        self._lines: dict[int, tuple[Sequence[Any], Line, bool, bool]] = {}
        self._rules: dict[tuple[Any, Any], tuple[dict[str, Any], FilterRule, bool]] = {}

    def find_in(self, rows: Iterable[Sequence[Any]], *, complete: bool) -> Iterator[StoredText]:
        """Search consecutive versions until the search jumps or ends.

        Args:
            rows: One for each version from `versions.next` on: number, next id, watermark, dropped,
                whether a withdrawal rewrote it, whether it is the current one, its lines for
                `build_line` and its rules for `build_rule`.
            complete: Whether no version of the client comes after the rows.
        """
        ref = self._searches[0].ref
        find_all = any(search.citations is None for search in self._searches)
        for version, next_id, watermark, dropped, rewritten, current, line_rows, rule_rows in rows:
            lines = [self._search_line(row) for row in line_rows]
            rules = [self._search_rule(row) for row in rule_rows]
            cites = find_all or any(one[2] for one in [*lines, *rules])
            if cites:
                profile = Profile(
                    ref=ref, version=version, next_id=next_id, lines=tuple(one[1] for one in lines)
                )
                memory = FilterMemory(rules=tuple(one[1] for one in rules))
                text = ClientText(
                    profile=profile, filter_memory=memory, watermark=watermark, dropped=dropped
                )
                yield StoredText(text, bool(current))
            # A line may cite a message of the searches without one of their attributes, and a later
            # version may cite the message with one.
            may_cite = cites or rewritten or any(one[3] for one in lines)
            if not self.versions.go_on(version, may_cite=may_cite):
                return
        if complete:
            self.versions.next = None

    def _search_line(self, row: Sequence[Any]) -> tuple[Sequence[Any], Line, bool, bool]:
        known = self._lines.get(row[0])
        if known is None or known[0] != row:
            line = build_line(row)
            known = self._lines[row[0]] = (row, line, *self._matcher.match_line(line))
        return known

    def _search_rule(self, row: dict[str, Any]) -> tuple[dict[str, Any], FilterRule, bool]:
        target = (row["router"], row["attribute"])
        known = self._rules.get(target)
        if known is None or known[0] != row:
            rule = build_rule(row)
            known = (row, rule, self._matcher.match_rule(rule, self._rule_words))
            self._rules[target] = known
        return known
