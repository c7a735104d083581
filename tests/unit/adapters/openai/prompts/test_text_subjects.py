"""With known attributes, a text names something of its question: "This is a new one." fits any."""

import pytest

from propagation.adapters.openai.answer_json import ParsedAnswer
from propagation.adapters.openai.prompting import (
    DegenerateAnswer,
    DegeneratePart,
    QuestionForm,
    TextCheck,
    TextSubjects,
    check_part,
)
from propagation.adapters.openai.prompting.text_subjects import ANYTHING
from propagation.adapters.openai.prompts import backward, merge, optimizer, summarize
from propagation.model import LossReason
from propagation.ports import Integration
from tests.unit.parties import item, line, message, party, user, work

SMALL = QuestionForm(edits=1, known_attributes=True, titles=True)
SUBJECTS = TextSubjects(
    ["Fugitive, The (1993)", "Mars Attacks! (1996)"],
    ["sci-fi", "crime", "children's", "war"],
    ["Drawn to the English Patient of late."],
)


@pytest.mark.parametrize(
    "text",
    [
        "This is a new one.",
        "I am a customer of this business",
        "This is the user's edit to choose a movie",
        "Santorabo-2 (1996) is a city in Brazil (1821-1996)",
        "This was the first to make the changes to the item that was requested by the user.",
        "white_check_markersize_red",
    ],
)
def test_a_text_about_nothing_of_its_question(text):
    assert not SUBJECTS.are_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "Prefers crime with a twist.",
        "Criminals on the run, for a long night.",
        "Science at its strangest.",
        "Pleases those who come for wars and heroes.",
        "The Fugitive, for those who like a chase.",
        "Mars attacks: laughs from space.",
        "Likes patient stories.",
        "Любит тихие истории.",
        "静かな物語が好き",
    ],
)
def test_a_text_about_its_question(text):
    assert SUBJECTS.are_in(text)


def test_without_attributes_a_text_may_be_about_anything():
    assert TextSubjects(["Heat (1995)"]).are_in("This is a new one.")


def test_a_gradient_may_speak_in_general_but_not_in_a_word():
    for text, kept in (
        ("Say more of its kind.", True),
        ("blue", False),
        ("white_check_markersize_red", False),
        ("Less crime.", True),
        ("静かな物語をもっと", True),
    ):
        assert SUBJECTS.are_in_gradient(text) == kept, text
    assert not TextSubjects().are_in_gradient("error"), "a user of whom nothing is known"
    assert TextSubjects().are_in_gradient("Keep what it says.")
    assert ANYTHING.are_in_gradient("Keep.")


def read(question, name, answer):
    check = TextCheck(question.texts)
    return check_part(ParsedAnswer({name: answer}), name, question.parts[name], check), check


def edit(text):
    return {"edits": [{"op": "add", "line": 0, "text": text, "attributes": []}]}


def test_lines_of_a_small_model_are_about_the_question():
    reader, heard = party(user(), line(1, "jazz")), party(item(), messages=(message(3, "soul"),))
    asked = [
        (optimizer.build_profile_question(work(), 1, "user", reader, heard, (), SMALL), "client"),
        (backward.build_question(work(), 1, {"user": reader}, SMALL), "user"),
        (merge.build_question(heard, SMALL), "client"),
    ]
    for question, name in asked:
        found, check = read(question, name, {**edit("This is a new one."), "used": ["M1"]})
        assert isinstance(found, DegeneratePart)
        assert check.reasons == [LossReason.NAMES_NOTHING]
        some = next(iter(question.subjects.names))
        found, check = read(question, name, {**edit(f"Speaks of {some} at last."), "used": ["M1"]})
        assert check.reasons == []
    usual = backward.build_question(work(), 1, {"user": reader})
    _, check = read(usual, "user", edit("Slow evenings and low lights."))
    assert check.reasons == [], "a large model may know more than the data"


def test_a_router_s_text_of_a_small_model_is_about_its_attributes():
    router = Integration(0, None, {"war": 3}, {"drama": 2.0}, {}, ["Heat (1995)"])
    question = summarize.build_question([router], SMALL)
    text = "Santorabo-2 is a city in the north of Brazil, and its former capital."
    found, _ = read(question, "router_1", {"name": "Santorabo-2", "text": text})
    assert isinstance(found, DegenerateAnswer)
    assert found.reasons == (LossReason.NAMES_NOTHING,)
    for text in ("A community that turns to war stories.", "All those who came for Heat and stay."):
        found, _ = read(question, "router_1", {"name": "Veterans", "text": text})
        assert found.text == text
    usual = summarize.build_question([router])
    found, _ = read(
        usual, "router_1", {"name": "Veterans", "text": "Trenches, mud and comradeship."}
    )
    assert found.name == "Veterans"
