"""Reads the stored versions of one client's text, and searches them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from propagation.adapters.shared.reason_rows import build_line, build_rule
from propagation.graph_rules.citation_search import CitationMatcher, RuleWords, VersionsToSearch
from propagation.model import (
    Citations,
    ClientText,
    FilterMemory,
    FilterRule,
    Line,
    Profile,
    StoredText,
)


class VersionRow(NamedTuple):
    """A stored version of a client's text.

    Attributes:
        rewritten: A withdrawal rewrote it.
        current: No later version is stored.
        line_rows: For `build_line`.
        rule_rows: For `build_rule`.
    """

    version: int
    next_id: int
    watermark: int
    dropped: int
    rewritten: bool
    current: bool
    line_rows: Sequence[Sequence[Any]]
    rule_rows: Sequence[dict[str, Any]]


@dataclass(slots=True)
class _KnownLine:
    """A line that the last version held.

    Attributes:
        line: None until a version that holds it is found: most are not.
    """

    row: Sequence[Any]
    cites: bool
    cites_message: bool
    line: Line | None = None

    def build(self) -> Line:
        self.line = self.line or build_line(self.row)
        return self.line


class VersionReader:
    """Reads and searches the versions of one client, in ascending order.

    A line or rule that stays from one version to the next is searched once, and stays the same
    object.

    Attributes:
        ref: The client.
        versions: Those that are still to read.
    """

    def __init__(
        self,
        ref: int,
        spans: Iterable[tuple[int, int]],
        citings: Sequence[Citations | None],
        matcher: CitationMatcher,
    ) -> None:
        """Begin before the first version.

        Args:
            spans: See `VersionsToSearch`.
            citings: What the client's searches name; None finds every version.
            matcher: Of all searches.
        """
        self.ref = ref
        self.versions = VersionsToSearch(spans)
        self._matcher = matcher
        self._find_all = None in citings
        self._rule_words = RuleWords(one for one in citings if one is not None)
        self._lines: dict[int, _KnownLine] = {}
        self._rules: dict[tuple[Any, Any], tuple[dict[str, Any], FilterRule, bool]] = {}

    def find_in(self, rows: Iterable[VersionRow], *, complete: bool) -> Iterator[StoredText]:
        """Search consecutive versions until the search jumps or ends.

        Args:
            rows: Versions from `versions.next` on.
            complete: No version of the client comes after the rows.
        """
        for row in rows:
            lines = [self._search_line(line) for line in row.line_rows]
            rules = [self._search_rule(rule) for rule in row.rule_rows]
            cites = self._find_all or any(
                [*(one.cites for one in lines), *(one[2] for one in rules)]
            )
            # A later version may cite such a message with another attribute.
            cites_message = any(one.cites_message for one in lines)
            goes_on = self.versions.go_on(
                row.version, may_cite=cites or cites_message or row.rewritten
            )
            if cites:
                profile = Profile(
                    ref=self.ref,
                    version=row.version,
                    next_id=row.next_id,
                    lines=tuple(one.build() for one in lines),
                )
                memory = FilterMemory(rules=tuple(one[1] for one in rules))
                text = ClientText(
                    profile=profile,
                    filter_memory=memory,
                    watermark=row.watermark,
                    dropped=row.dropped,
                )
                yield StoredText(text, row.current)
            if not goes_on:
                return
        if complete:
            self.versions.next = None

    def _search_line(self, row: Sequence[Any]) -> _KnownLine:
        known = self._lines.get(row[0])
        if known is None or known.row != row:
            _, text, attributes, _, _, sources = row
            known = _KnownLine(row, *self._matcher.match_line(text, attributes, sources))
            self._lines[row[0]] = known
        return known

    def _search_rule(self, row: dict[str, Any]) -> tuple[dict[str, Any], FilterRule, bool]:
        target = (row["router"], row["attribute"])
        known = self._rules.get(target)
        if known is None or known[0] != row:
            rule = build_rule(row)
            known = (row, rule, self._matcher.match_rule(rule, self._rule_words))
            self._rules[target] = known
        return known
