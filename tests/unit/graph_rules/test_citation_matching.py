"""What cites, and which versions of a client's texts a search reads."""

from propagation.graph_rules.citation_search import (
    ENDLESS,
    NOT_WRITTEN,
    CitationMatcher,
    VersionsToSearch,
    find_spans,
    list_rule_words,
)
from propagation.model import Citations, CitationSearch, FilterRule, Line, Source

NOTHING = Citations()
JAZZ = frozenset({"jazz"})


def read(spans, citing):
    """Return which of 20 versions a search reads, if only those in `citing` may cite."""
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


AT = CitationSearch(2, NOTHING, at_sequence=7)


def test_a_search_begins_where_its_sequence_was_written():
    assert find_spans([AT], {7: (4, 5, False)}, None) == [(4, 5)]
    assert find_spans([AT], {7: NOT_WRITTEN}, None) == []
    assert find_spans([AT], {7: (None, None, True)}, None) == [(0, ENDLESS)]


def test_what_retention_dropped_is_before_the_version_after_the_last_gap():
    assert find_spans([AT], {}, 9) == [(0, 9)]
    assert find_spans([AT], {7: (11, 12, False)}, 9) == [(11, 12), (0, 9)]


def test_other_searches_begin_at_a_version_or_at_the_first():
    from_version = CitationSearch(2, NOTHING, from_version=3)
    assert find_spans([from_version, CitationSearch(2, NOTHING)], {}, 9) == [(3, 3), (0, ENDLESS)]


def test_a_line_that_cites_a_message_without_a_lost_attribute_may_cite_it_later():
    lost = Citations(messages={(1, 2): JAZZ}, message_words=JAZZ)
    matcher = CitationMatcher([CitationSearch(2, lost)])
    for text, attribute, version, expected in (
        ("Likes opera.", "opera", 2, (False, True)),
        ("Likes opera.", "jazz", 2, (True, True)),
        ("Likes JAZZ.", "opera", 2, (True, True)),
        ("Likes jazz.", "jazz", 3, (False, False)),
    ):
        source = Source(router=1, version=version)
        line = Line(id=1, text=text, attributes=(attribute,), sources=(source,))
        assert matcher.match_line(line) == expected


def test_rules_are_searched_for_words_of_their_router_and_client():
    on_router = {4: frozenset({"opera"})}
    mine = [CitationSearch(2, Citations(rule_words=JAZZ)), CitationSearch(2, None)]
    matcher = CitationMatcher([*mine, CitationSearch(4, Citations(router_words=on_router))])
    of_router = FilterRule(2.0, "Welcome Opera.", router=4)
    assert matcher.match_rule(of_router, ())
    assert not matcher.match_rule(FilterRule(2.0, "Welcome opera.", router=5), ())
    of_attribute = FilterRule(2.0, "Welcome it.", attribute="jazz")
    assert matcher.match_rule(of_attribute, list_rule_words(mine))
    assert not matcher.match_rule(of_attribute, ())
