"""What cites, and which versions of a client's texts a search reads."""

from propagation.graph_rules.citation_search import (
    ENDLESS,
    CitationMatcher,
    RuleWords,
    VersionsToSearch,
    find_span,
)
from propagation.model import Citations, CitationSearch, FilterRule

NOTHING = Citations()
JAZZ = frozenset({"jazz"})


def read(spans, citing):
    """Return the versions that a search reads, of 20, where only these may cite."""
    versions, read = VersionsToSearch(spans), []
    while versions.next is not None and versions.next <= 20:
        read.append(versions.next)
        goes_on = versions.go_on(versions.next, may_cite=versions.next in citing)
        assert goes_on == (versions.next == read[-1] + 1)
    return read


def test_a_search_ends_at_the_first_version_that_does_not_cite():
    assert read([(3, 3)], {3, 4, 9}) == [3, 4, 5]
    assert read([(3, 3)], {4}) == [3]
    assert read([], {3}) == []


def test_a_search_reads_at_least_to_its_last_version():
    assert read([(3, 6)], {4}) == [3, 4, 5, 6]
    assert read([(18, ENDLESS)], ()) == [18, 19, 20]


def test_searches_of_one_client_read_each_version_once():
    assert read([(9, 10), (3, 3), (4, 4)], {3, 9}) == [3, 4, 9, 10]
    assert read([(3, 5), (4, 4), (6, 6)], ()) == [3, 4, 5, 6]


def test_a_search_begins_where_its_sequence_was_written():
    at = CitationSearch(2, NOTHING, at_sequence=7)
    assert find_span(at, (4, 5), late=False) == (4, 5)
    assert find_span(at, None, late=False) is None
    assert find_span(at, None, late=True) == (0, ENDLESS)
    assert find_span(CitationSearch(2, NOTHING, from_version=3), None, late=False) == (3, 3)
    assert find_span(CitationSearch(2, NOTHING), None, late=False) == (0, ENDLESS)


def test_a_line_that_cites_a_message_without_a_lost_attribute_may_cite_it_later():
    matcher = CitationMatcher([Citations(messages={(1, 2): JAZZ}, message_words=JAZZ)])
    source = [(None, 1, 2)]
    assert matcher.match_line("Likes opera.", ("opera",), source) == (False, True)
    assert matcher.match_line("Likes opera.", ("jazz",), source) == (True, True)
    assert matcher.match_line("Likes JAZZ.", ("opera",), source) == (True, True)
    assert matcher.match_line("Likes jazz.", ("jazz",), [(None, 1, 3)]) == (False, False)


def test_rules_are_searched_for_words_of_their_router_and_client():
    matcher = CitationMatcher([NOTHING])
    words = RuleWords(
        [Citations(rule_words=JAZZ), Citations(router_words={4: frozenset({"opera"})})]
    )
    of_router = FilterRule(2.0, "Welcome Opera.", router=4)
    assert matcher.match_rule(of_router, words)
    assert not matcher.match_rule(FilterRule(2.0, "Welcome opera.", router=5), words)
    assert matcher.match_rule(FilterRule(2.0, "Welcome it.", attribute="jazz"), words)
    assert not matcher.match_rule(of_router, RuleWords([NOTHING]))
