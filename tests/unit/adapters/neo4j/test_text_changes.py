"""What new versions of texts change among the nodes of lines and rules."""

from dataclasses import replace

from propagation.adapters.neo4j.reason.text_changes import (
    find_node_changes,
    list_line_columns,
    list_rule_columns,
    prepare_texts,
)
from propagation.model import ClientText, FilterMemory, FilterRule, Line, Profile, Source

RAIN = Line(id=1, text="likes rain")
JAZZ = Line(id=2, text="likes jazz", sources=(Source(router=3, version=2), Source(sequence=7)))
TRUST = FilterRule(2.0, "Trust it.", router=3, evidence=(4,), age=4)


def text(version, *lines, rules=()):
    return ClientText(
        profile=Profile(ref=8, version=version, lines=lines, next_id=3),
        filter_memory=FilterMemory(rules=rules),
    )


def columns(*lines):
    return [list_line_columns(text(1, line))[line.id] for line in lines]


def test_a_node_holds_interactions_and_messages_apart():
    assert columns(JAZZ) == [["likes jazz", 1.0, "interaction", [], [7], ["3.2"]]]


def test_what_a_version_has_unchanged_is_not_written_again():
    lines, rules = find_node_changes(
        {8: text(4, RAIN, rules=(TRUST,))}, {8: text(5, RAIN, JAZZ, rules=(TRUST,))}
    )
    assert lines.created == [[8, 5, [[2, *columns(JAZZ)[0]]]]]
    assert (lines.updated, lines.deleted) == ([], [])
    assert (rules.created, rules.updated, rules.deleted) == ([], [], [])


def test_a_line_that_changes_keeps_its_node_and_one_that_goes_loses_it():
    heavier = replace(RAIN, weight=2.0)
    lines, _ = find_node_changes({8: text(4, RAIN, JAZZ)}, {8: text(7, heavier)})
    assert lines.updated == [[8, 1, 7, *columns(heavier)[0]]]
    assert lines.deleted == [[8, [2]]]
    assert lines.created == []


def test_the_first_text_of_a_client_creates_everything():
    lines, rules = find_node_changes({}, {8: text(1, RAIN, rules=(TRUST,))})
    assert lines.created == [[8, 1, [[1, *columns(RAIN)[0]]]]]
    assert rules.created == [[8, 1, [[0, *list_rule_columns(text(1, rules=(TRUST,)))[0]]]]]


def test_a_rule_belongs_to_its_place():
    other = replace(TRUST, router=5)
    _, rules = find_node_changes({8: text(1, rules=(TRUST, other))}, {8: text(2, rules=(other,))})
    assert rules.updated == [[8, 0, 2, 5, None, 2.0, "Trust it.", [4], 4]]
    assert rules.deleted == [[8, [1]]]


def test_the_last_version_of_a_client_is_the_one_that_nodes_follow():
    texts = [text(1, RAIN), text(2, RAIN, JAZZ)]
    new = prepare_texts(texts, [7, 9], [6, 8])
    assert [row[:4] for row in new.rows] == [[8, 1, 7, 6], [8, 2, 9, 8]]
    assert new.last == {8: texts[1]}
