"""Each question's schema lists the names that exist.

Its limit of tokens cuts no answer that the schema allows."""

import json
from dataclasses import replace

import pytest

from propagation.adapters.openai.answer_json import ParsedAnswer
from propagation.adapters.openai.prompting import (
    QuestionForm,
    build_schema,
    check_part,
    describe_schema,
)
from propagation.adapters.openai.prompts import (
    backward,
    extract,
    forward,
    merge,
    optimizer,
    predict,
    rank,
)
from propagation.model import (
    Author,
    Client,
    ClientKey,
    ClientKind,
    FilterRule,
    ReasonerFailed,
)
from tests.unit.parties import NEGATIVE, heard_line, item, line, message, party, user, work

READER = party(
    user(),
    line(1, "jazz"),
    heard_line(2, 4, "dub"),
    messages=(message(3, "soul"), message(5, "opera")),
)


def schema_of(question):
    return build_schema(question.parts, bounded=True)["properties"]


def test_a_choice_is_one_of_two_and_comes_before_its_reason():
    asked = forward.build_question(READER, [party(item()), party(item(NEGATIVE))])
    prediction = schema_of(asked)["prediction"]
    assert list(prediction["properties"]) == ["choice", "why"]
    assert prediction["properties"]["choice"] == {"type": "integer", "enum": [1, 2]}
    assert prediction["properties"]["why"]["maxLength"] == 160


def test_reception_names_its_messages_and_the_lines_that_it_may_change():
    client = schema_of(merge.build_question(READER))["client"]["properties"]
    assert client["used"]["items"]["enum"] == ["M1", "M2"]
    assert client["used"]["maxItems"] == 2
    edit = client["edits"]["items"]["properties"]
    assert edit["line"]["enum"] == [0, 2], "line 1 was not heard"
    assert (edit["text"]["maxLength"], edit["attributes"]["items"]["maxLength"]) == (160, 30)


def test_a_client_without_lines_to_change_may_only_add_one():
    edit = schema_of(backward.build_question(work(), 1, {"user": party(user())}))["user"][
        "properties"
    ]["edits"]["items"]["properties"]
    assert (edit["op"]["enum"], edit["line"]["enum"]) == (["add"], [0])


def test_each_message_is_judged_by_its_name():
    asked = backward.build_question(work(), 1, {"user": READER, "chosen": party(item())})
    heard = schema_of(asked)["messages"]["properties"]["heard"]
    assert heard["items"]["properties"]["message"]["enum"] == ["M1", "M2"]
    assert heard["maxItems"] == 2


def test_an_order_has_each_number_and_a_number_that_comes_twice_counts_once():
    candidates = [party(item(ref)) for ref in range(7, 12)]
    asked = rank.build_question(party(user()), candidates)
    order = schema_of(asked)["ranking"]["properties"]["order"]
    assert (order["minItems"], order["maxItems"]) == (5, 5)
    assert order["items"]["enum"] == [1, 2, 3, 4, 5]

    def read(*numbers):
        answer = ParsedAnswer({"ranking": {"order": list(numbers)}})
        return check_part(answer, "ranking", asked.parts["ranking"])

    assert read(5, 4, 3, 2, 1) == [4, 3, 2, 1, 0]
    assert read(5, 5, 2, 2, 3) == [4, 1, 2, 0, 3], "1 and 4 follow as they were shown"
    assert isinstance(read(1, 1, 1, 1, 2), ReasonerFailed)
    two = rank.build_question(party(user()), candidates[:2]).parts["ranking"]
    assert check_part(ParsedAnswer({"ranking": {"order": [2]}}), "ranking", two) == [1, 0]


def test_a_rule_is_about_a_message_or_what_messages_and_rules_name():
    rules = (FilterRule(router=None, attribute="dub", factor=2.0, text="More.", age=1),)
    heard = (message(3, "soul", "funk", "ignore <all>"), message(5, "opera", "m1"))
    reader = party(user(), line(1, "jazz"), rules=rules, messages=heard)
    named = ["M1", "M2", "dub", "soul", "funk", "opera"]
    asked = backward.build_question(work(), 1, {"user": reader})
    assert find_about(schema_of(asked)["user"]) == {"type": "string", "enum": named}
    alone = optimizer.filter_question(work(), 1, "user", reader, [])
    assert find_about(schema_of(alone)["client"])["enum"] == named


def find_about(client):
    return client["properties"]["rules"]["items"]["properties"]["about"]


def test_names_from_the_data_stand_in_schemas_only():
    """A prompt says nothing of the data outside of it."""
    form = QuestionForm(known_attributes=True)
    asked = backward.build_question(work(), 1, {"user": READER, "chosen": party(item())}, form)
    in_words = describe_schema(build_schema(asked.parts, bounded=False, named=False))
    assert not any(name in in_words for name in ("soul", "opera", "jazz"))
    assert '"about": string' in in_words
    assert '"M1" | "M2"' in in_words, "the names of messages are the prompt's own"


KNOWN = QuestionForm(edits=1, known_attributes=True)


def test_attributes_are_chosen_from_those_of_the_question():
    film = Client(7, ClientKey(ClientKind.ITEM, "i"), title="Aida", categories=("Opera", "Verdi"))
    asked = extract.build_question([film], KNOWN)
    lines = schema_of(asked)["client_1"]["properties"]["lines"]
    assert lines["maxItems"] == 1
    attributes = lines["items"]["properties"]["attributes"]
    assert (attributes["items"]["enum"], attributes["minItems"]) == (["opera", "verdi"], 1)
    assert attributes["maxItems"] == 2
    given = {"lines": [{"text": "Aida, an opera.", "attributes": ["OPERA", "sad"]}]}
    [edit] = check_part(ParsedAnswer({"client_1": given}), "client_1", asked.parts["client_1"])
    assert edit.line.attributes == ("opera",)
    bare = Client(7, ClientKey(ClientKind.ITEM, "i"), title="Aida")
    asked = extract.build_question([bare], KNOWN)
    attributes = schema_of(asked)["client_1"]["properties"]["lines"]["items"]["properties"]
    assert "enum" not in attributes["attributes"]["items"], "there are none to choose from"


def test_attributes_of_hidden_lines_are_not_offered():
    """They would show one user's words to another."""
    chosen = replace(
        party(item(), line(1, "secret"), line(2, "dub"), messages=(message(3, "soul"),)),
        unshared=frozenset({1}),
    )
    for question, name in (
        (
            backward.build_question(work(), 1, {"user": party(user()), "chosen": chosen}, KNOWN),
            "user",
        ),
        (
            optimizer.build_profile_question(work(), 1, "user", party(user()), chosen, [], KNOWN),
            "client",
        ),
    ):
        edits = schema_of(question)[name]["properties"]["edits"]
        names = edits["items"]["properties"]["attributes"]["items"]["enum"]
        assert "secret" not in names
        assert {"jazz", "dub"} <= {*names}, "a category of the item, and a line's attribute"
        assert edits["maxItems"] == 1
    heard = merge.build_question(chosen, KNOWN)
    names = schema_of(heard)["client"]["properties"]["edits"]["items"]["properties"]["attributes"]
    assert names["items"]["enum"] == ["jazz", "soul", "dub"]


def test_items_may_be_shown_by_title_and_genres():
    told = line(1, "jazz", author=Author.CATALOGUE, text="A record of 1959.")
    chosen = party(item(), told, line(2, "dub", text="Liked by night owls."))
    reader = party(user(), replace(told, text="A quiet listener."))
    form = QuestionForm(titles=True)
    shown = predict.build_question(reader, chosen, chosen, form).data
    assert shown["candidate_1"] == {
        "title": "Kind of Blue",
        "listed_under": ["jazz"],
        "profile": {"2": "Liked by night owls."},
    }
    assert shown["user"] == {"profile": {"1": "A quiet listener."}}
    ranked = rank.build_question(reader, [party(item(), told), chosen], form).data["candidates"]
    assert ranked["1"] == {"title": "Kind of Blue: jazz"}
    assert ranked["2"]["profile"] == ["Liked by night owls."]
    bare = predict.build_question(reader, party(item(categories=()), told), chosen, form).data
    assert bare["candidate_1"]["profile"] == {"1": "A record of 1959."}, "it has no genres"


def fill(schema):
    """Return the longest answer that a schema allows."""
    if "enum" in schema:
        return max(schema["enum"], key=lambda value: len(str(value)))
    if schema["type"] == "object":
        return {name: fill(value) for name, value in schema["properties"].items()}
    if schema["type"] == "array":
        return [fill(schema["items"])] * schema["maxItems"]
    return {"string": "x" * schema.get("maxLength", 0), "integer": 100_000, "boolean": False}[
        schema["type"]
    ]


@pytest.mark.parametrize(
    "question",
    [
        forward.build_question(READER, [READER, party(item(NEGATIVE))]),
        backward.build_question(work(), 0, {"user": READER, "chosen": party(item())}),
        rank.build_question(party(user()), [party(item(ref)) for ref in range(7, 27)]),
        extract.build_question(
            [Client(7, ClientKey(ClientKind.ITEM, "i"), title="Aida", attributes=("opera",))] * 4
        ),
    ],
    ids=["forward", "backward", "rank", "extract"],
)
def test_the_limit_of_tokens_cuts_no_answer_that_the_schema_allows(question):
    """Even if each token had two characters only, as in a text of single letters."""
    longest = len(json.dumps(fill(build_schema(question.parts, bounded=True)))) / 2
    assert longest <= question.most_tokens < 1.5 * longest
