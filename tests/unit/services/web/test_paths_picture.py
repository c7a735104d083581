"""The picture of paths: shared steps, places that do not overlap, texts that are cut."""

import re
from collections import defaultdict
from itertools import pairwise
from xml.etree.ElementTree import tostring

import pytest

from propagation.v1 import propagation_pb2 as pb
from services.web.pictures.paths import (
    BOX_HEIGHT,
    TEXT_LINES,
    TEXT_WIDTH,
    Column,
    count_reached,
    cut_to_lines,
    draw_paths,
    join_paths,
)

USER, ITEM = pb.CLIENT_KIND_USER, pb.CLIENT_KIND_ITEM


def name(kind: pb.ClientKind.ValueType, id_: str) -> pb.Parties:
    return pb.Parties(clients=pb.Parties.Clients(keys=[pb.ClientKey(kind=kind, id=id_)]))


def profile(parties: pb.Parties, text: str) -> pb.Hop:
    line = pb.Line(id=1, text=text)
    return pb.Hop(profile=pb.ProfileHop(client=parties, kind=USER, line=line), text=text)


def walk(event: int, end: pb.Hop | None, router: int = 0) -> pb.Path:
    """Return a path from an event over one router to a profile."""
    source = pb.InteractionSource(sequence=event, users=name(USER, f"u{event}"))
    hops = [
        pb.Hop(interaction=source, sequence=event),
        profile(name(USER, f"u{event}"), "likes jazz"),
        pb.Hop(attribute=pb.AttributeHop(name="jazz", router=router)),
        pb.Hop(message=pb.Message(router=router, version=1, text="jazz"), sequence=9),
    ]
    return pb.Path(hops=[*hops, *([end] if end else [])])


def test_shared_steps_are_joined():
    paths = [walk(n, profile(name(ITEM, f"i{m}"), "hears")) for n in (1, 2) for m in (1, 2, 3)]
    flow = join_paths(paths, backward=False)
    columns = [step.column for step in flow.steps.values()]
    assert [columns.count(column) for column in Column] == [2, 2, 1, 1, 3]
    message = next(step for step in flow.steps.values() if step.column == Column.MESSAGE)
    assert message.paths == [0, 1, 2, 3, 4, 5]
    assert len(flow.strands) == 2 + 2 + 1 + 3
    assert count_reached(flow) == (3, True)


def test_clients_who_are_not_named_are_not_taken_for_one_another():
    unknown = pb.Parties(count=1)
    flow = join_paths(
        [walk(1, profile(unknown, "hears jazz")), walk(2, profile(unknown, "hears jazz"), 1)],
        backward=False,
    )
    assert count_reached(flow) == (2, False)


def test_the_end_of_backward_paths_is_one_step_in_the_last_column():
    here = profile(name(USER, "ann"), "likes jazz")
    own = pb.Hop(interaction=pb.InteractionSource(sequence=7), sequence=7)
    flow = join_paths([walk(1, here), pb.Path(hops=[own, here])], backward=True)
    ends = [step for step in flow.steps.values() if step.column == Column.REACHED]
    assert [step.paths for step in ends] == [[0, 1]]
    assert "this line" in tostring(draw_paths(flow), encoding="unicode")


@pytest.mark.parametrize("backward", [False, True])
def test_no_two_boxes_overlap(backward):
    ends = [profile(name(USER, f"r{n % 7}"), f"hears {n % 3}") for n in range(20)]
    flow = join_paths([walk(n % 5, end, n % 4) for n, end in enumerate(ends)], backward=backward)
    markup = tostring(draw_paths(flow), encoding="unicode")
    boxes = re.findall(r'<svg x="([\d.]+)" y="([\d.]+)"', markup)
    assert len(boxes) == len(flow.steps)
    columns = defaultdict(list)
    for x, y in boxes:
        columns[x].append(float(y))
    assert len(columns) == 5
    height = float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', markup)[1])
    for tops in columns.values():
        ordered = sorted(tops)
        assert all(low - high >= BOX_HEIGHT for high, low in pairwise(ordered))
        assert ordered[-1] + BOX_HEIGHT <= height


def test_steps_without_a_page_lead_to_the_path_in_words():
    unknown = profile(pb.Parties(count=1), "hears")
    flow = join_paths([walk(1, None), walk(2, unknown)], backward=False)
    end = next(step for step in flow.steps.values() if step.column == Column.REACHED)
    assert end.link == ""
    assert 'href="#path-2"' in tostring(draw_paths(flow), encoding="unicode")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("short", ["short"]),
        ("aaa bbb ccc", ["aaa bbb", "ccc"]),
        ("aaa bbb ccc ddd eee", ["aaa bbb", "ccc ddd…"]),
        ("abcdefghijklmnop", ["abcdefg", "hijklmn…"]),
        ("漢字漢字漢字漢字", ["漢字漢", "字漢字…"]),
        ("x" * 10_000, ["x" * 7, "x" * 7 + "…"]),
    ],
)
def test_texts_are_cut_to_lines(text, lines):
    assert cut_to_lines(text, 8, 2) == lines


def test_a_cut_text_is_never_wider_than_its_box():
    for length in range(1, 200, 7):
        lines = cut_to_lines("word " * length + "y" * length, TEXT_WIDTH, TEXT_LINES)
        assert len(lines) <= TEXT_LINES
        assert all(len(line) <= TEXT_WIDTH for line in lines)
