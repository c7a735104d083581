"""What small models make of a form: near enough is taken, wrong is not."""

import pytest

from propagation.adapters.openai.answer_json import ParsedAnswer
from propagation.adapters.openai.prompting import (
    ExpectedPart,
    build_schema,
    check_part,
    describe_schema,
    find_letter_in,
    match_parts,
)
from propagation.adapters.openai.prompts import (
    backward,
    evolve,
    extract,
    forward,
    gradient,
    merge,
    predict,
    rank,
    summarize,
)
from propagation.model import AddLine, DropLine, ReasonerFailed, ReplaceLine
from tests.unit.parties import NEGATIVE, heard_line, item, line, message, party, user, work

EDIT = {"op": "add", "line": 0, "text": "It likes soul.", "attributes": ["soul"]}


def build_parts():
    reader = party(user(), line(1, "jazz"), heard_line(2, 4, "dub"), messages=(message(3, "soul"),))
    return forward.build_question(reader, [party(item()), party(item(NEGATIVE))]).parts


def check_answer(name, value):
    return check_part(ParsedAnswer({name: value}), name, build_parts()[name])


@pytest.mark.parametrize(
    ("choice", "first"),
    [(1, True), ("2", False), ("Candidate 1", True), ("candidate_2", False), (2.0, False)],
)
def test_a_choice_is_a_number_however_it_is_said(choice, first):
    assert check_answer("prediction", {"choice": choice}) is first


@pytest.mark.parametrize("choice", [0, 3, "neither", None, [1], 1.5, True])
def test_what_is_no_choice_is_none(choice):
    found = check_answer("prediction", {"choice": choice, "why": "so"})
    assert isinstance(found, ReasonerFailed)


@pytest.mark.parametrize(
    "edits",
    [
        EDIT,
        [EDIT],
        [{**EDIT, "op": "Insert", "line": None}],
        [{"text": "It likes soul.", "attributes": "soul, "}],
        [{**EDIT, "line": "line 0", "extra": 1}],
        [{**EDIT, "attributes": ["soul", {"of": ["x"], "y": 1}, None]}],
    ],
)
def test_an_edit_is_an_edit_however_it_is_said(edits):
    [edit] = check_answer("user", {"used": "M1", "edits": edits}).edits
    assert isinstance(edit, AddLine)
    assert (edit.line.text, edit.line.attributes) == ("It likes soul.", ("soul",))


def test_hearsay_changes_no_line_that_the_client_said_itself():
    found = check_answer(
        "user",
        {
            "used": ["m1"],
            "edits": [{**EDIT, "op": "replace", "line": 1}, {"op": "delete", "line": 2}],
        },
    )
    assert [type(edit) for edit in found.edits] == [AddLine, DropLine]
    assert found.edits[1].id == 2


def test_an_object_around_the_answer_is_taken_off():
    wanted = build_parts()
    inside = {"prediction": {"choice": 1}, "user": {"used": [], "edits": []}}
    assert match_parts(ParsedAnswer({"answer": inside}), wanted).value == inside
    assert match_parts(
        ParsedAnswer({"order": [2, 1]}),
        rank.build_question(party(user()), [party(item()), party(item(NEGATIVE))]).parts,
    ).value == {"ranking": {"order": [2, 1]}}
    deep = {"result": {"output": {"data": {"content": {"answer": inside}}}}}
    assert match_parts(ParsedAnswer(deep), wanted).value == inside
    assert match_parts(ParsedAnswer({"something": {"else": 1}}), wanted).value == {
        "something": {"else": 1}
    }


def test_the_schema_asks_of_servers_only_what_all_grammars_take():
    schema = build_schema(build_parts(), bounded=False)
    assert schema["required"] == list(build_parts()) == list(schema["properties"])
    text = str(schema)
    for word in (
        "$ref",
        "minItems",
        "maxItems",
        "minimum",
        "maxLength",
        "default",
        "title",
        "anyOf",
        "allOf",
        "description",
    ):
        assert f"'{word}'" not in text
    shape = describe_schema(build_schema(build_parts(), bounded=False))
    assert shape.count("{") == shape.count("}")


def walk_nodes(schema):
    yield schema
    for inner in (
        *schema.get("properties", {}).values(),
        *([schema["items"]] if "items" in schema else []),
    ):
        yield from walk_nodes(inner)


def test_where_bounds_are_taken_nothing_in_an_answer_is_without_end():
    """A model that repeats itself in one text or list still comes to the others."""
    models = (
        extract.ProfileAnswer,
        merge.ReceptionAnswer,
        predict.Choice,
        backward.HeardClient,
        gradient.Messages,
        summarize.Router,
        rank.Ranking,
        evolve.Decision,
    )
    asked = {str(place): ExpectedPart(model, str) for place, model in enumerate(models)}
    found = list(walk_nodes(build_schema(asked, bounded=True)))
    texts = [one for one in found if one["type"] == "string" and "enum" not in one]
    lists = [one for one in found if one["type"] == "array"]
    assert len(texts) > 15
    assert all(30 <= one["maxLength"] <= 480 for one in texts)
    assert len(lists) > 9
    assert all(2 <= one["maxItems"] <= 1_000 for one in lists)
    assert [one.get("minItems", 0) for one in lists].count(1) == 2, "a first profile, and a ranking"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("M1", "M1"),
        ("m1", "M1"),
        ("M1 (soul)", "M1"),
        ("M1: A community", "M1"),
        ("1", "M1"),
        (" M2 ", "M2"),
        ("M1 and M2", None),
        ("M3", None),
        ("soul", None),
        ("", None),
        ("M", None),
        ("3", None),
    ],
)
def test_a_message_is_known_by_its_letter_however_it_is_said(said, meant):
    assert find_letter_in(said, {"M1", "M2"}) == meant


def test_a_rule_about_a_message_that_is_another_s_is_none():
    reader = party(user(), line(1, "jazz"), messages=(message(3, "soul"),))
    rules = [
        {"about": "M7", "weigh": "more"},
        {"about": "m1 (soul)", "weigh": "Less", "text": "Doubt it."},
        {"about": "Free Jazz", "weigh": "ignore"},
    ]
    wanted = backward.build_question(work(), 1, {"user": reader}).parts["user"]
    _, client = check_part(ParsedAnswer({"user": {"rules": rules}}), "user", wanted)
    assert [(rule.router, rule.attribute) for rule in client.rules] == [(3, None)], (
        "two rules a call, of which one is none"
    )


@pytest.mark.parametrize(
    ("value", "edits"),
    [
        (None, 0),
        ({}, 0),
        ([], 0),
        ([EDIT, None, {"op": "whatever"}], 1),
        ({"edits": [{"op": "none"}]}, 0),
        ({"edits": [{**EDIT, "op": "dance"}, EDIT]}, 1),
        ({"edits": [{"line": 2, "text": "Dub again."}]}, 1),
    ],
)
def test_what_says_nothing_is_nothing_and_a_bad_edit_is_left_out_alone(value, edits):
    assert len(check_answer("user", value).edits) == edits


def test_an_edit_with_a_line_and_a_text_replaces_it():
    [edit] = check_answer("user", {"edits": [{"line": 2, "text": "Dub again."}]}).edits
    assert (type(edit), edit.line.id) == (ReplaceLine, 2)


@pytest.mark.parametrize(
    "value", ["none", 5, {"profile": {}}, {"edits": "It likes soul."}, {"edits": [{"op": "dance"}]}]
)
def test_what_is_something_else_is_no_empty_answer(value):
    assert isinstance(check_answer("user", value), ReasonerFailed)
