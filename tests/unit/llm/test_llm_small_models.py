"""What small models make of a form: near enough is taken, wrong is not."""

import pytest

from propagation.adapters.openai.matching import checked, matched
from propagation.adapters.openai.prompts import forward, rank
from propagation.adapters.openai.prompts.prompt import schema_of, shape_of
from propagation.adapters.openai.reading import Said
from propagation.model.errors import ReasonerFailed
from propagation.model.profile import AddLine, DropLine
from tests.unit.parties import NEGATIVE, heard, item, line, message, party, user

EDIT = {"op": "add", "line": 0, "text": "It likes soul.", "attributes": ["soul"]}


def parts():
    reader = party(user(), line(1, "jazz"), heard(2, 4, "dub"), messages=(message(3, "soul"),))
    return forward.question(reader, [party(item()), party(item(NEGATIVE))]).parts


def answered(name, value):
    return checked(Said({name: value}), name, parts()[name])


@pytest.mark.parametrize(("choice", "first"), [
    (1, True), ("2", False), ("Candidate 1", True), ("candidate_2", False), (2.0, False)])
def test_a_choice_is_a_number_however_it_is_said(choice, first):
    assert answered("prediction", {"choice": choice}).chose_first is first


@pytest.mark.parametrize("choice", [0, 3, "neither", None, [1], 1.5])
def test_what_is_no_choice_is_none(choice):
    found = answered("prediction", {"choice": choice, "why": "so"})
    assert isinstance(found, ReasonerFailed)


@pytest.mark.parametrize("edits", [EDIT, [EDIT], [{**EDIT, "op": "Insert", "line": None}],
                                   [{"text": "It likes soul.", "attributes": "soul, "}],
                                   [{**EDIT, "line": "line 0", "extra": 1}]])
def test_an_edit_is_an_edit_however_it_is_said(edits):
    [edit] = answered("user", {"used": "M1", "edits": edits}).edits
    assert isinstance(edit, AddLine)
    assert (edit.line.text, edit.line.attributes) == ("It likes soul.", ("soul",))


def test_hearsay_changes_no_line_that_the_client_said_itself():
    found = answered("user", {"used": ["m1"], "edits": [{**EDIT, "op": "replace", "line": 1}, {"op": "delete", "line": 2}]})
    assert [type(edit) for edit in found.edits] == [AddLine, DropLine]
    assert found.edits[1].id == 2


def test_an_object_around_the_answer_is_taken_off():
    wanted = parts()
    inside = {"prediction": {"choice": 1}, "user": {"used": [], "edits": []}}
    assert matched(Said({"answer": inside}), wanted).value == inside
    assert matched(Said({"order": [2, 1]}), rank.question(party(user()), [party(item()), party(item(NEGATIVE))]).parts).value == {
        "ranking": {"order": [2, 1]}}
    assert matched(Said({"something": {"else": 1}}), wanted).value == {"something": {"else": 1}}


def test_the_schema_asks_of_servers_only_what_all_grammars_take():
    schema = schema_of(parts())
    assert schema["required"] == list(parts()) == list(schema["properties"])
    text = str(schema)
    for word in ("$ref", "maxItems", "minimum", "maxLength", "default", "title", "anyOf", "allOf", "description"):
        assert f"'{word}'" not in text
    assert shape_of(parts()).count("{") == shape_of(parts()).count("}")
