"""Texts that say nothing are refused, asked for once more, and then left out; good ones never."""

import pytest

from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.openai.answer_json import ParsedAnswer
from propagation.adapters.openai.prompting import DegeneratePart, TextCheck, check_part, find_fault
from propagation.adapters.openai.prompts import backward, extract, merge, summarize
from propagation.adapters.openai.prompts.gradient import OUTCOMES
from propagation.model import AddLine, Client, ClientKey, ClientKind, ReplaceLine
from services.fake_llm import server
from tests.unit.parties import item, line, message, party, user, work

TOLD = f"{merge.PROMPT.instructions}\n{OUTCOMES[1]}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("soul soul soul soul and more", "repeats itself"),
        ("It likes jazz and it likes jazz and it likes jazz and so on", "repeats itself"),
        ("aaaaaaaaaaaaaaaa", "repeats itself"),
        ("好听好听好听好听好听好听", "repeats itself"),
        ("a b a c a b a c b a c a b b a c a b", "repeats itself"),
        ("The user chose the item `chosen` and passed over `passed`.", "repeats the instructions"),
        ("This was foreseen.", "repeats the instructions"),
        ("Answer for each client that has messages: jazz", "repeats the instructions"),
        ("client_2 likes films", "names a part of this question"),
        ("", "has no words"),
        ("1.", "has no words"),
        ("M1", "has no words"),
    ],
)
def test_texts_that_say_nothing(text, fault):
    assert find_fault(text, TOLD) == fault


@pytest.mark.parametrize(
    "name", ["a", "7", "m1", "M12", "edits", "client_2", "Candidate 1", "line 3", "da da da da da"]
)
def test_names_that_are_no_attributes(name):
    check = TextCheck(TOLD)
    assert check.keep_names([name, "soul"]) == ["soul"]
    assert len(check.refused) == 1


@pytest.mark.parametrize(
    "name", ["3d", "tv", "1984", "爱", "film noir", "rock & roll", "u2", "new york, new york"]
)
def test_names_that_may_be_attributes(name):
    assert TextCheck(TOLD).keep_names([name]) == [name]


def test_a_name_of_a_field_may_be_an_attribute_where_the_data_says_it():
    assert TextCheck(TOLD, "A course on text and message design").keep_names(["text"]) == ["text"]
    assert TextCheck(TOLD, "A course on soul").keep_names(["text"]) == []


def ask(parts, name, value):
    return check_part(ParsedAnswer({name: value}), name, parts[name], TextCheck(TOLD))


def test_a_line_that_stands_there_already_is_refused_and_the_other_edit_stays():
    reader = party(user(), line(1, "jazz", text="Likes jazz."), line(2, "soul", text="Soul, too."))
    parts = backward.build_question(work(), 1, {"user": reader}).parts
    edits = [
        {"op": "add", "line": 0, "text": "likes JAZZ", "attributes": ["jazz"]},
        {"op": "add", "line": 0, "text": "Likes dub.", "attributes": ["dub", "m1"]},
    ]
    found = ask(parts, "user", {"helped": True, "gradient": "Say more of dub.", "edits": edits})
    assert isinstance(found, DegeneratePart)
    assert "stands there already" in str(found)
    assert "'m1' is no attribute" in str(found)
    [edit] = found.rest.optimized.edits
    assert (type(edit), edit.line.text, edit.line.attributes) == (AddLine, "Likes dub.", ("dub",))
    again = ask(parts, "user", {"edits": [{**edits[0], "op": "replace", "line": 1}]})
    [edit] = again.optimized.edits
    assert isinstance(edit, ReplaceLine), "its own text again adds a source"
    other = ask(parts, "user", {"edits": [{**edits[0], "op": "replace", "line": 2}]})
    assert isinstance(other, DegeneratePart)
    assert other.rest.optimized.edits == []


def film(title, number):
    return Client(number, ClientKey(ClientKind.ITEM, f"i{number}"), title=title)


def test_a_description_of_another_item_of_the_call_is_refused():
    films = [film("Heat", 1), film("Toy Story", 2), film("Up", 3)]
    parts = extract.build_question(films).parts

    def read(name, *texts):
        return ask(parts, name, {"lines": [{"text": text, "attributes": []} for text in texts]})

    found = read("client_1", "Toy Story, a tale of toys.", "Heat of the night, for many.")
    assert "about 'Toy Story'" in str(found)
    assert [edit.line.text for edit in found.rest] == ["Heat of the night, for many."]
    assert read("client_2", "Heat and nothing else.").rest == []
    assert len(read("client_2", "Toy Story, warmer than Heat.")) == 1, "it names itself, too"
    assert len(read("client_1", "Up and away with the robbers.")) == 1, "short titles are words"


async def test_degenerate_answers_are_asked_for_once_more_and_then_left_out(
    open_reasoner, monkeypatch
):
    asked_with = []

    def loop(messages, response_format, *, obeying):
        if "data" not in str(messages):
            return {"word": "harbour"}
        asked_with.append(messages)
        return {"client_1": {"lines": [{"text": "good good good good", "attributes": ["a"]}]}}

    monkeypatch.setattr(server, "write_scripted_answer", loop)
    client = Client(7, ClientKey(ClientKind.ITEM, "i"), title="Aida", categories=("opera", "Verdi"))
    async with open_reasoner() as asked:
        answer = await asked.reasoner.extract([client])
        again = await asked.reasoner.extract([client])
    assert list(answer.edits) == [extract_lines(client)], "the catalogue's own lines"
    assert list(again.edits) == list(answer.edits)
    [(_, cost)] = answer.usage.by_prompt
    assert (cost.calls, cost.lost) == (2, 1)
    assert len(asked_with) == 4, "an answer with lost parts is not kept"
    *_, told = asked_with[1]
    assert "repeats itself" in told["content"]
    assert {one["role"] for one in asked_with[1]} == {"system", "user"}, "it is not shown again"


def test_no_good_text_is_refused():
    """What the offline reasoner says of a catalogue, and sentences of people."""
    names = ("film noir", "comedy", "drama", "thriller", "musical", "western")
    for number, name in enumerate(names):
        client = Client(
            number,
            ClientKey(ClientKind.ITEM, f"i{number}"),
            title=f"{name.title()}, {name.title()}!",
            categories=names[: number + 1],
            description=f"A {name} of 1942 that people come back to, year after year.",
        )
        for edit in extract_lines(client):
            assert find_fault(edit.line.text, TOLD) is None
            assert TextCheck(TOLD).keep_names(edit.line.attributes) == [*edit.line.attributes]
    for text in (
        "Drawn to slow, slow burning thrillers and to the cities they are set in.",
        "Likes what soul and funk says, not opera at home.",
        "Well well well: jazz.",
        "Pleases many.",
        "Trust soul and funk as before.",
        "New York, New York and other songs of Sinatra.",
        "10000000 records sold: pop for millions.",
        "Ha ha ha, comedies of all kinds.",
    ):
        assert find_fault(text, TOLD) is None, text


def test_a_router_s_text_that_says_nothing_is_a_lost_part():
    answer = {"name": "soul", "text": "We love soul we love soul we love soul we love soul"}
    part = summarize.build_question([]).parts
    assert part == {}
    found = check_part(
        ParsedAnswer({"router_1": answer}),
        "router_1",
        summarize.ExpectedPart(summarize.Router, summarize.read_summary),
        TextCheck(TOLD),
    )
    assert "repeats itself" in str(found)


def test_messages_judged_without_words_bring_no_gradient():
    reader = party(user(), line(1, "jazz"), messages=(message(3, "soul"),))
    parts = backward.build_question(work(), 1, {"user": reader, "chosen": party(item())}).parts
    found = ask(
        parts,
        "messages",
        {"heard": [{"message": "M1", "helped": True, "gradient": "This was foreseen."}]},
    )
    assert isinstance(found, DegeneratePart)
    assert found.rest == []
