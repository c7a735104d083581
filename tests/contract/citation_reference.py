"""Reference for the search for citations: its definition, without a database."""

from collections.abc import Sequence
from dataclasses import dataclass

from propagation.model import Citations, CitationSearch, ClientText, FilterRule, Line


@dataclass(frozen=True)
class Version:
    """A stored version of a text."""

    text: ClientText
    sequence: int
    rewritten: bool = False

    @property
    def number(self) -> int:
        return self.text.profile.version


def find_matching(versions: Sequence[Version], search: CitationSearch) -> set[int]:
    """Return the numbers of the versions that a search must find.

    Args:
        versions: All versions of one client, in order.
    """
    start = _find_start(versions, search)
    if start is None:
        return set()
    first, last = start
    found = set[int]()
    for version in versions:
        if version.number < first:
            continue
        if matches(version.text, search.citations):
            found.add(version.number)
        elif (
            version.number >= last
            and not version.rewritten
            and not matches(version.text, search.citations, with_any_attribute=True)
        ):
            break
    return found


def _find_start(versions: Sequence[Version], search: CitationSearch) -> tuple[int, int] | None:
    """Return the versions at which a search begins and may end.

    Returns:
        (the first version that is searched, the first version at which the search may end); None if
        there is nothing to search.
    """
    if search.at_sequence is not None:
        written = [one.number for one in versions if one.sequence == search.at_sequence]
        return (min(written), max(written)) if written else None
    if search.from_version is not None:
        return search.from_version, search.from_version
    return 0, len(versions) + 1


def matches(
    text: ClientText, citations: Citations | None, *, with_any_attribute: bool = False
) -> bool:
    """Tell whether a text cites or names one of the citations.

    Args:
        citations: None: every text matches.
        with_any_attribute: A line that cites a message matches without an attribute or a word.
    """
    if citations is None:
        return True
    lines, rules = text.profile.lines, text.filter_memory.rules
    return any(_is_cited_in(line, citations, with_any_attribute) for line in lines) or any(
        _is_cited_by(rule, citations) for rule in rules
    )


def _is_cited_in(line: Line, citations: Citations, with_any_attribute: bool) -> bool:
    for source in line.sources:
        if source.sequence in citations.sequences:
            return True
        key = source.router, source.version
        if key in citations.messages:
            names = citations.messages[key]
            if (
                names is None
                or with_any_attribute
                or not names.isdisjoint(line.attributes)
                or _holds(line.text, citations.message_words)
            ):
                return True
    return any(_holds(part, citations.words) for part in (line.text, *line.attributes))


def _is_cited_by(rule: FilterRule, citations: Citations) -> bool:
    words = citations.words | citations.rule_words
    if rule.router is not None:
        words |= citations.router_words.get(rule.router, frozenset())
    return not citations.sequences.isdisjoint((*rule.evidence, rule.age)) or any(
        _holds(part, words) for part in (rule.text, rule.attribute or "")
    )


def _holds(text: str, words: frozenset[str]) -> bool:
    return any(word.casefold() in text.casefold() for word in words)
