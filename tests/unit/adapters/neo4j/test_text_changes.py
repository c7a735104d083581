"""What new versions of texts change among the nodes of lines and rules."""

from dataclasses import replace

from propagation.adapters.neo4j.reason.text_changes import (
    build_message_key,
    find_node_changes,
    list_line_columns,
    list_rule_columns,
    parse_message_key,
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
        {8: text(4, RAIN, rules=(TRUST,))}, {8: [text(5, RAIN, JAZZ, rules=(TRUST,))]}
    )
    assert lines.created == [[8, [[2, 5, *columns(JAZZ)[0]]]]]
    assert (lines.updated, lines.deleted) == ([], [])
    assert (rules.created, rules.updated, rules.deleted) == ([], [], [])


def test_a_line_that_changes_keeps_its_node_and_one_that_goes_loses_it():
    heavier = replace(RAIN, weight=2.0)
    lines, _ = find_node_changes({8: text(4, RAIN, JAZZ)}, {8: [text(5, heavier)]})
    assert lines.updated == [[8, 1, {"since": 5, "weight": 2.0}]]
    assert lines.deleted == [[8, [2]]]
    assert lines.created == []


def test_of_several_versions_the_one_that_wrote_a_line_as_it_is_counts():
    heavier = replace(RAIN, weight=2.0)
    new = [text(5, heavier), text(6, heavier, JAZZ), text(7, heavier, JAZZ)]
    lines, _ = find_node_changes({8: text(4, RAIN)}, {8: new})
    assert lines.updated == [[8, 1, {"since": 5, "weight": 2.0}]]
    assert lines.created == [[8, [[2, 6, *columns(JAZZ)[0]]]]]


def test_the_first_text_of_a_client_creates_everything():
    lines, rules = find_node_changes({}, {8: [text(1, RAIN, rules=(TRUST,))]})
    assert lines.created == [[8, [[1, 1, *columns(RAIN)[0]]]]]
    assert rules.created == [[8, [[0, 1, *list_rule_columns(text(1, rules=(TRUST,)))[0]]]]]


def test_a_rule_belongs_to_its_place():
    other = replace(TRUST, router=5)
    _, rules = find_node_changes({8: text(1, rules=(TRUST, other))}, {8: [text(2, rules=(other,))]})
    assert rules.updated == [[8, 0, {"since": 2, "router": 5}]]
    assert rules.deleted == [[8, [1]]]


def test_texts_are_prepared_without_what_only_their_commit_knows():
    texts = [text(1, RAIN), text(2, RAIN, JAZZ)]
    new = prepare_texts(texts, [6, 8])
    assert [row[:3] for row in new.rows] == [[8, 1, 6], [8, 2, 8]]
    assert new.by_client == {8: texts}


def test_a_key_of_a_message_is_read_as_it_was_written():
    assert parse_message_key(build_message_key(3, 12)) == (3, 12)
