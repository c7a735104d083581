"""Bodies of profile versions: compressed, and read again."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import orjson
import pytest

from propagation.adapters.shared.text_bodies import (
    BodyEncoder,
    decompress_body,
    list_cited_messages,
    read_parts,
)
from propagation.adapters.shared.version_reader import VersionReader
from propagation.graph_rules.citation_search import CitationMatcher
from propagation.model import (
    Author,
    Citations,
    CitationSearch,
    FilterMemory,
    FilterRule,
    InvalidInput,
    Line,
    Source,
)

LINES = (
    Line(
        id=1,
        text="Enjoys jazz, such as “Kind of Blue”.",
        attributes=("jazz",),
        weight=1.95,
        sources=(Source(sequence=7),),
    ),
    Line(
        id=4,
        text="Others drawn to soul are turning to funk.",
        attributes=("funk",),
        weight=0.4,
        author=Author.RECEPTION,
        sources=(Source(router=3, version=2),),
    ),
)
RULES = (
    FilterRule(
        attribute="funk", factor=0.8, text="Be wary of news of funk.", evidence=(7, 9), age=9
    ),
)
AS_JSON = orjson.dumps(
    [
        [
            [1, LINES[0].text, ["jazz"], 1.95, "interaction", [[7, None, None]]],
            [4, LINES[1].text, ["funk"], 0.4, "reception", [[None, 3, 2]]],
        ],
        [
            {
                "router": None,
                "attribute": "funk",
                "factor": 0.8,
                "text": "Be wary of news of funk.",
                "evidence": [7, 9],
                "age": 9,
            }
        ],
    ]
)


def test_a_body_comes_back_and_is_a_fraction_of_its_json():
    written = BodyEncoder().encode(LINES, RULES, 1, 1)
    assert decompress_body(written) == AS_JSON
    assert len(written) < len(AS_JSON) / 2
    assert read_parts(written) == (LINES, FilterMemory(rules=RULES))
    assert list_cited_messages(written) == [(3, 2)]


def test_versions_that_share_lines_are_encoded_like_each_alone():
    encoder = BodyEncoder()
    changed = replace(LINES[0], weight=3.0)
    versions = [
        ((), ()),
        (LINES, RULES),
        ((changed, LINES[1]), (*RULES, replace(RULES[0], attribute="soul"))),
        (LINES[:1], RULES),
    ]
    for number, (lines, rules) in enumerate(versions, 1):
        together = encoder.encode(lines, rules, 1, number)
        assert together == BodyEncoder().encode(lines, rules, 1, number)
        assert read_parts(together) == (lines, FilterMemory(rules=rules))


def test_a_text_that_sqlite_would_cut_is_refused():
    with pytest.raises(InvalidInput, match=r"U\+0000"):
        BodyEncoder().encode((Line(id=1, text="a\0b"),), (), 1, 1)


def test_bodies_are_packed_and_read_by_several_threads_at_once():
    lines = [
        (Line(id=number, text=f"Enjoys jazz, such as “Record {number}”.", attributes=("jazz",)),)
        for number in range(400)
    ]
    with ThreadPoolExecutor(8) as threads:
        bodies = list(threads.map(lambda line: BodyEncoder().encode(line, (), 1, 1), lines))
        assert list(threads.map(lambda body: read_parts(body)[0], bodies)) == lines


def test_a_reader_of_versions_gives_what_each_holds_and_shares_what_stayed():
    rule = FilterRule(attribute="jazz", factor=2.0, text="Welcome jazz.", evidence=(3,), age=3)
    stayed = Line(
        id=1,
        text="Likes jazz.",
        attributes=("jazz",),
        sources=(Source(sequence=1), Source(router=2, version=3)),
    )
    before = Line(id=2, text="Heard of opera.", sources=(Source(sequence=2),))
    after = Line(
        id=2, text="Heard of opera again.", sources=(Source(sequence=2), Source(sequence=4))
    )
    versions = [
        BodyEncoder().encode([stayed, before], [rule], 1, 1),
        BodyEncoder().encode([stayed, after], [rule], 1, 2),
        BodyEncoder().encode([after], [replace(rule, age=9)], 1, 3),
    ]
    searches = [CitationSearch(1, Citations(frozenset([2])), from_version=1)]
    reader = VersionReader(searches, [(1, 1)], CitationMatcher(searches))
    rows = [
        (number, 3, 0, 0, 0, 0, *orjson.loads(decompress_body(body)))
        for number, body in enumerate(versions, 1)
    ]
    texts = [one.text for one in reader.find_in(rows, complete=True)]
    found = [(text.profile.lines, text.filter_memory) for text in texts]
    assert found == [read_parts(body) for body in versions]
    assert found[1][0][0] is found[0][0][0]
    assert found[1][1].rules[0] is found[0][1].rules[0]
    assert found[2][1].rules[0].age == 9
