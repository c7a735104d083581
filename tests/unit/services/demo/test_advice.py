"""What the demo shows of a recommendation: the count before the choice, and a fall said as plainly
as a rise."""

import asyncio
import json
import re

from propagation.v1 import propagation_pb2 as pb
from services.demo.data import build_folder_script
from services.demo.printing import describe_how_chosen, describe_where_it_stands, show_advice
from services.demo.run import _tell
from services.demo.story import (
    BEYOND,
    Advice,
    Placement,
    Story,
    find_largest_rise,
    list_carried_attributes,
)

LINE = pb.Line(text="Word of map novels.", attributes=["map novels", "slow blues"])


def story(user):
    return Story(user, pb.Profile(), pb.Profile(), LINE, True, None, frozenset(["map novels"]))


def recommendation(**parts):
    listed = [pb.ScorePart(feature=name, product=product) for name, product in parts.items()]
    return pb.Recommendation(
        item_id="a",
        title="The Atlas",
        explanation=pb.Explanation(parts=listed, text="It is liked."),
    )


def find_counts(sentence):
    return [int(number) for number in re.findall(r"\b\d+\b", sentence)]


def test_the_one_that_rose_most_is_shown_among_all_of_them():
    ada, rosa = story("ada"), story("rosa")
    placements = [
        Placement(ada, "a", 10, 20),
        Placement(ada, "b", 1, 40),
        Placement(rosa, "a", 300, 900),
        Placement(rosa, "b", 9, 3),
        Placement(rosa, "c", 7, 7),
        Placement(rosa, "d", BEYOND, 30),
    ]
    shown = find_largest_rise(placements)
    assert shown == placements[1]
    sentence = describe_how_chosen(placements, shown)
    pairs, users, higher, lower, same = find_counts(sentence)
    assert (pairs, users) == (6, 2)
    assert (higher, lower, same) == (3, 2, 1)
    assert "rose" in sentence


def test_a_fall_is_told_with_the_part_that_did_it(capsys):
    shown = Placement(story("ada"), "a", 243, 172)
    placements = [Placement(story("ada"), "b", 900, 100), shown]
    advice = Advice([], recommendation(lift_taste=-0.4, content=0.2), recommendation(content=0.1))
    assert find_counts(describe_how_chosen(placements, shown)) == [2, 1, 0, 2, 0]
    assert "fell" in describe_how_chosen(placements, shown)
    sentence = describe_where_it_stands(advice, shown)
    assert find_counts(sentence)[:2] == [243, 172]
    assert all(word in sentence for word in ("ada", "fell", "lift_taste", "+0.00", "-0.40"))
    show_advice(advice, placements, shown)
    out = capsys.readouterr().out
    assert "lift_taste" in out
    assert "243" in out


def test_a_part_that_propagation_does_not_feed_is_not_passed_off_as_its_work():
    sentence = describe_where_it_stands(
        Advice([], recommendation(popularity=0.9, profile=0.1), recommendation(popularity=0.4)),
        Placement(story("ada"), "a", 4, 50),
    )
    assert all(word in sentence for word in ("rose", "popularity", "without propagation"))


def test_an_item_that_others_passed_is_not_blamed_on_its_parts():
    sentence = describe_where_it_stands(
        Advice([], recommendation(content=0.2), recommendation(content=0.2)),
        Placement(story("ada"), "a", 4, 3),
    )
    assert "other items" in sentence
    assert "content" not in sentence


def test_what_is_told_is_what_travelled():
    hops = [
        pb.Hop(attribute=pb.AttributeHop(name="map novels", router=3)),
        pb.Hop(message=pb.Message(attributes=["slow blues"])),
    ]
    assert list_carried_attributes(pb.Path(hops=hops)) == {"map novels"}
    assert list_carried_attributes(None) == frozenset()


def test_one_event_is_too_little_and_that_is_said(tmp_path, capsys):
    (tmp_path / "events.jsonl").write_text(json.dumps({"user_id": "u0", "item_id": "i0"}) + "\n")
    script = build_folder_script(tmp_path, 7)
    assert not script.watched
    asyncio.run(_tell(None, script, {}))
    assert "1 event" in capsys.readouterr().out
