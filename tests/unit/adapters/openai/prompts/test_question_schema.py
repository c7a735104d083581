"""Each question's schema lists the names that exist.

Its limit of tokens cuts no answer that the schema allows."""

import json

import pytest

from propagation.adapters.openai.answer_json import ParsedAnswer
from propagation.adapters.openai.prompting import build_schema, check_part
from propagation.adapters.openai.prompts import backward, extract, forward, merge, rank
from propagation.model import Client, ClientKey, ClientKind, ReasonerFailed
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
