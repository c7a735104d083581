"""JSON as small models write it: read where it can mean one thing only."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.adapters.openai.answers.part_matching import checked
from propagation.adapters.openai.parsing.answer_text import Fault, read
from propagation.adapters.openai.parsing.lenient_json import Lenient
from propagation.adapters.openai.prompts import predict

MEANT = {"prediction": {"why": 'it\'s "so"', "choice": 1}, "user": {"used": ["M1"], "edits": []}}


@pytest.mark.parametrize(
    "said",
    [
        """{'prediction': {'why': 'it\\'s "so"', 'choice': 1}, 'user': {'used': ['M1'], 'edits': []}}""",
        """{'prediction': {'why': 'it's "so"', 'choice': 1,}, 'user': {'used': ['M1',], 'edits': [],},}""",
        """{"prediction": {"why": "it's "so"", "choice": 1}, "user": {"used": ["M1"], "edits": []}}""",
        """{prediction: {why: "it's \\"so\\"", choice: 1}, user: {used: ['M1'], edits: []}}""",
        """{"prediction": {"why": "it's \\"so\\"", "choice": +1}, // first\n "user": {"used": ["M1" /* one */], # no\n "edits": []}}""",
        """{“prediction”: {“why”: “it's "so"”, “choice”: 1}, “user”: {“used”: [“M1”], “edits”: []}}""",
        """{"prediction": {"why": "it's \\"so\\"" "choice": 1} "user": {"used": ["M1"], "edits": []}}""",
        """{`prediction`: {`why`: `it's "so"`, `choice`: 1}, `user`: {`used`: [`M1`], `edits`: []}}""",
        '"' + json.dumps(MEANT).replace("\\", "\\\\").replace('"', '\\"') + '"',
        "```python\nanswer = {'prediction': {'why': 'it\\'s \"so\"', 'choice': 1}, 'user': {'used': ['M1'], 'edits': []}}\n```",
    ],
)
def test_what_can_mean_one_thing_only_is_read(said):
    found = read(said, "stop", None, ["prediction", "user"])
    assert (found.fault, found.value) == (None, MEANT)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        (
            "{'a': True, 'b': None, 'c': FALSE, 'd': undefined}",
            {"a": True, "b": None, "c": False, "d": None},
        ),
        ("{'a': .5, 'b': -1., 'c': 1e3, 4: add}", {"a": 0.5, "b": -1.0, "c": 1000.0, "4": "add"}),
        (
            "{'a': 'x\\ny\\u0041\\'z', 'b': '\\ud83d\\ude00'}",
            {"a": "x\nyA'z", "b": "\N{GRINNING FACE}"},
        ),
        ("{'a': [1, 'two', [3], {'b': 4},],}", {"a": [1, "two", [3], {"b": 4}]}),
        (
            "{'text': 'likes \"jazz\", \"soul\" and dub', 'n': 1}",
            {"text": 'likes "jazz", "soul" and dub', "n": 1},
        ),
        ('{"text": "likes "jazz", a lot", "n": 1}', {"text": 'likes "jazz", a lot', "n": 1}),
    ],
)
def test_values_are_what_they_say(said, value):
    assert Lenient(said).value(0) == (value, len(said))


@pytest.mark.parametrize(
    "said",
    [
        "{'a' 1}",
        "{'a': }",
        "{'a': 1 2}",
        "{'a': 'b}",
        "{'a': [1, 2}",
        "{1: 2",
        "{'a': b c}",
        "{'a': (1, 2)}",
        "{...}",
        "{'a': 1/2}",
    ],
)
def test_what_could_mean_two_things_is_not_read(said):
    with pytest.raises(ValueError, match=r"."):
        Lenient(said).value(0)
    assert read(said, "stop", None).fault in (Fault.BROKEN, Fault.TRUNCATED)


@pytest.mark.parametrize(
    "number", ["NaN", "1e999", "-1e999", "Infinity", "-Infinity", "inf", "9" * 30]
)
@pytest.mark.parametrize("finish", ["stop", None])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_number_that_is_none_is_a_fault_of_what_asked_for_it_alone(number, finish, quote):
    """It breaks no JSON: beside what was asked for, it is nobody's fault."""
    for beside in (f"'certainty': {number}, 'choice': 1", f"'choice': 1, 'certainty': [{number}]"):
        told = read(
            f"{{'prediction': {{{beside}}}, 'user': {{}}}}".replace("'", quote), finish, None
        )
        assert told.fault is None
        assert checked(told, "prediction", predict.WANTED).chose_first is True
    asked = read(
        f"{{'prediction': {{'choice': {number}}}, 'user': {{}}}}".replace("'", quote), finish, None
    )
    assert asked.fault is None
    assert asked.value["user"] == {}
    assert "no finite number" in str(checked(asked, "prediction", predict.WANTED))


TEXTS = st.text(
    st.characters(exclude_characters="\"'“”‘’`\\", exclude_categories=["Cs"]), max_size=20
)
NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=50)
@given(VALUES)
def test_whatever_is_json_is_read_as_json(value):
    for text in (json.dumps({"a": value}), json.dumps({"a": value}, ensure_ascii=False, indent=1)):
        assert Lenient(text).value(0) == (json.loads(text), len(text))


@pytest.mark.parametrize(
    "piece",
    [
        "{'a': ",
        "['a', ",
        "{'a': 'b', ",
        "'",
        '"\\',
        "{a: [",
        "/*",
        "#",
        "//\n",
        "{'a': 'b' ",
        "\\'",
        "“",
        "{'a': 1} ",
        "{'a': {'b': 1}, 'c' ",
    ],
)
def test_a_model_that_loops_is_read_in_no_time(piece):
    started = time.process_time()
    read("{'x': " + piece * (200_000 // len(piece)), "stop", None, ["x"])
    assert time.process_time() - started < 1.0


def test_the_answer_is_found_behind_what_it_repeats():
    shown = json.dumps(
        {
            "messages": {"M1": {"says": "x"}},
            "user": {"profile": {"1": "jazz"}},
            "candidate_1": {"title": "Tosca"},
        }
    )
    draft, last = (
        '{"prediction": {"choice": 2}, "user": {"edits": []}}',
        '{"prediction": {"choice": 1}, "user": {"edits": []}}',
    )
    found = read(
        f"Given {shown} I first thought {draft} but no: {last}", None, None, ["user", "prediction"]
    )
    assert found.value == json.loads(last)


def test_parts_one_by_one_are_one_answer():
    one, other = '{"user": {"edits": []}}', '{"prediction": {"choice": 1}}'
    for text in (f"{one}\n{other}", f"[{one}, {other}]"):
        assert read(text, None, None, ["user", "prediction"]).value == {
            "user": {"edits": []},
            "prediction": {"choice": 1},
        }


def test_of_a_cut_answer_in_single_quotes_the_whole_members_stand():
    found = read(
        "{'user': {'edits': []}, 'prediction': {'choice': 2}, 'candidate_1': {'edits': [{'op': 'ad",
        "max_tokens",
        None,
    )
    assert (found.fault, found.value) == (
        Fault.TRUNCATED,
        {"user": {"edits": []}, "prediction": {"choice": 2}},
    )
