"""What prompts say, read as a model reads them: nothing in them means two things, and nothing that
is kept means another in the next."""

import json

from propagation.adapters.openai.answer_json import ParsedAnswer
from propagation.adapters.openai.prompting import check_part, show_party, write_document
from propagation.adapters.openai.prompts import backward, forward, gradient, optimizer, summarize
from propagation.model import FilterRule
from propagation.ports import Integration
from tests.unit.parties import NEGATIVE, item, line, message, party, user, work

SOUL, OPERA = message(3, "soul", name="soul and funk"), message(5, "opera", name="opera at home")


def filter_rule(router=None, attribute=None, factor=0.8, text="Doubt what this community says."):
    return FilterRule(router=router, attribute=attribute, factor=factor, text=text)


def test_a_rule_says_what_it_is_about_and_which_way_it_weighs():
    """`this community` alone is nobody; a rule about one that says nothing here would be about
    another."""
    reader = party(
        user(),
        line(1, "jazz"),
        messages=(OPERA, SOUL),
        rules=(
            filter_rule(3),
            filter_rule(9),
            filter_rule(attribute="dub", factor=1.25, text="Welcome it."),
        ),
    )
    assert forward.build_question(reader, [party(item())]).data["user"]["rules"] == [
        "M2 (less): Doubt what this community says.",
        "dub (more): Welcome it.",
    ]
    quiet = party(user(), line(1, "jazz"), messages=(OPERA,), rules=(filter_rule(3),))
    assert "rules" not in forward.build_question(quiet, [party(item())]).data["user"]


def test_what_is_kept_names_communities_and_no_letters():
    """M1 is another one in the next prompt."""
    reader = party(user(), line(1, "jazz"), messages=(SOUL, OPERA))
    edit = {"op": "add", "line": 0, "text": "Likes what M1 says, not M2.", "attributes": ["soul"]}
    told = {
        "helped": True,
        "gradient": "Follow M2.",
        "filter_gradient": "Trust M1 more than M7.",
        "edits": [edit],
        "rules": [
            {"about": "M1", "weigh": "more", "text": "Trust M1 as before."},
            {"about": "M2", "weigh": "less"},
        ],
    }
    heard = {"heard": [{"message": "M2", "helped": False, "gradient": "Say what M1 says."}]}
    parts = backward.build_question(work(), 1, {"user": reader, "chosen": party(item())}).parts
    gradients, optimized = check_part(ParsedAnswer({"user": told}), "user", parts["user"])
    assert [one.text for one in gradients] == [
        "Follow opera at home.",
        "Trust soul and funk more than M7.",
    ]
    assert [one.line.text for one in optimized.edits] == [
        "Likes what soul and funk says, not opera at home."
    ]
    assert [one.text for one in optimized.rules] == [
        "Trust soul and funk as before.",
        "Weigh what is said of this less.",
    ]
    [credit] = check_part(ParsedAnswer({"messages": heard}), "messages", parts["messages"])
    assert credit.text == "Say what soul and funk says."
    taken_in = forward.build_question(reader, [party(item())]).parts["user"]
    merged = check_part(ParsedAnswer({"user": {"used": ["M1"], "edits": [edit]}}), "user", taken_in)
    assert [one.line.text for one in merged.edits] == [
        "Likes what soul and funk says, not opera at home."
    ]


def test_no_prompt_names_a_message_that_it_does_not_show():
    reader = party(user(), line(1, "jazz"), messages=(SOUL, OPERA), rules=(filter_rule(3),))
    other = party(item(), line(1, "opera"), messages=(OPERA,))
    asked = [
        forward.build_question(reader, [other, party(item(NEGATIVE))]),
        gradient.build_question(work(), 1, "user", reader),
        backward.build_question(work(), 1, {"user": reader, "chosen": other}),
        optimizer.filter_question(work(), 1, "user", reader, []),
        optimizer.build_profile_question(work(), 1, "user", reader, other, []),
    ]
    for question in asked:
        data = json.loads(write_document(question.data).split("\n")[1])
        named = {
            name
            for one in data.values()
            if isinstance(one, dict)
            for name in one.get("messages", [])
        }
        assert named == set(data.get("messages", {}))
    assert show_party(reader).keys() == {"profile"}


def test_a_router_is_shown_its_name_so_that_it_keeps_it():
    asked = summarize.build_question(
        [
            Integration(number, before, {}, {"soul": 1.0}, {}, [])
            for number, before in ((3, SOUL), (4, None))
        ]
    )
    data = json.loads(write_document(asked.data).split("\n")[1])
    assert (data["router_1"]["called"], "called" in data["router_2"]) == ("soul and funk", False)
