"""Pictures of recommendations: the parts of scores, and how places change."""

import pytest

from propagation.v1 import propagation_pb2 as pb
from services.web.pictures.place_changes import Places, describe_change, draw_place_changes
from services.web.pictures.score_parts import draw_score_parts, sum_groups
from services.web.views.clients.recommendations import (
    compare_places,
    describe_lift,
    find_withheld,
)

SCRIPT = "<script>alert(1)</script>"


def recommend(item_id, score, title="", **parts):
    return pb.Recommendation(
        item_id=item_id,
        title=title,
        score=score,
        explanation=pb.Explanation(
            parts=[pb.ScorePart(feature=name, product=value) for name, value in parts.items()]
        ),
    )


def test_bars_have_the_lengths_of_the_parts():
    item = recommend("i", 3.0, popularity=1.0, recent=1.0, lift_taste=2.0, content=-1.0)
    assert sum_groups(item.explanation) == {
        "popularity": 2.0,
        "texts": -1.0,
        "together": 0.0,
        "learned": 0.0,
        "propagation": 2.0,
    }
    picture = draw_score_parts([item])
    bars = {one.get("class").split()[1]: one for one in picture.iter("rect")}
    assert set(bars) == {"popularity", "texts", "propagation"}
    width = {name: float(bar.get("width")) for name, bar in bars.items()}
    start = {name: float(bar.get("x")) for name, bar in bars.items()}
    assert width["popularity"] == pytest.approx(2 * width["texts"], abs=0.2)
    assert start["texts"] + width["texts"] == pytest.approx(start["popularity"], abs=0.2)
    assert start["popularity"] + width["popularity"] == pytest.approx(start["propagation"], abs=0.2)
    (dot,) = picture.iter("circle")
    zero = start["popularity"]
    assert float(dot.get("cx")) - zero == pytest.approx(1.5 * width["popularity"], abs=0.3)


def test_titles_are_text_and_long_ones_are_cut():
    picture = draw_score_parts([recommend("i", 1.0, SCRIPT + 500 * "x", popularity=1.0)])
    label = next(one.text for one in picture.iter("text") if one.text.startswith("1. "))
    assert label.startswith("1. <script>")
    assert len(label) < 60


def test_no_parts_at_all_make_a_picture():
    assert len(list(draw_score_parts([recommend("i", 0.0)]).iter("circle"))) == 1


@pytest.mark.parametrize(
    ("without", "with_", "words"),
    [
        (4, 1, "up 3"),
        (1, 1_001, "down 1,000"),
        (2, 2, "the same place"),
        (None, 3, "new: not ranked without propagation"),
        (3, None, "gone: not ranked with propagation"),
    ],
)
def test_a_change_of_place_in_words(without, with_, words):
    assert describe_change(Places("i", "", without, with_)) == words


def test_items_that_propagation_takes_from_the_list_are_compared_too():
    with_ = [recommend(name, 0) for name in "abcd"]
    without = [recommend(name, 0) for name in "cabd"]
    assert compare_places(with_[:2], with_, without) == [
        Places("a", "", 2, 1),
        Places("b", "", 3, 2),
        Places("c", "", 1, 3),
    ]
    # Events were learned between the calls: the places on the page are those that it shows.
    assert compare_places(with_[:2], without, without)[0] == Places("a", "", 2, 1)


def test_each_change_is_a_line():
    places = [Places("a", "A", 1, 2), Places("b", "B", 2, 1), Places("c", SCRIPT, 30, 3)]
    picture = draw_place_changes(places, 3)
    assert [path.get("class") for path in picture.iter("path")] == [
        "move down",
        "move up",
        "move up",
    ]
    texts = [one.text for one in picture.iter("text")]
    assert "A  1" in texts
    assert "2  A" in texts
    assert f"3  {SCRIPT}" in texts
    assert not any(SCRIPT in text and text.endswith("30") for text in texts)


def test_what_is_withheld_is_the_rest_of_the_score():
    assert find_withheld(recommend("i", 1.0, popularity=0.4)) == pytest.approx(0.6)
    assert find_withheld(recommend("i", 1.0, popularity=0.4, recent=0.6)) == 0.0


@pytest.mark.parametrize(
    ("lift", "words"),
    [
        (0.0, "about as often as everyone"),
        (0.6931, "2.0 times as often as everyone"),
        (-0.6931, "less often than everyone, by 50%"),
    ],
)
def test_a_lift_in_words(lift, words):
    assert describe_lift(pb.RouterShare(lift=lift)) == words
