"""JSON Lines, made here."""

import json
import re

import pytest

from propagation.datasets.load import load_dataset
from propagation.model import BrokenData

SEED = 7
CLIENT = {
    "kind": "item",
    "id": "a",
    "title": "A &amp; B",
    "attributes": ["x"],
    "categories": ["c"],
    "hidden": True,
    "metadata": {"n": 1},
}


def write(folder, clients, events=None):
    (folder / "clients.jsonl").write_text("\n".join(map(json.dumps, clients)) + "\n")
    if events is not None:
        (folder / "events.jsonl").write_text(
            "\n\n".join(map(json.dumps, events)), encoding="utf-8-sig"
        )
    return folder


def test_everything_the_schema_has(tmp_path):
    write(
        tmp_path,
        [CLIENT, {"kind": "user", "id": "a"}],
        [
            {
                "user_id": "a",
                "item_id": "a",
                "event_id": "first",
                "negative_item_id": "z",
                "time": "2026-01-01T00:00:00Z",
                "weight": 2.5,
            },
            {"user_id": "b", "item_id": "a", "time": 5, "metadata": {"where": "shop"}},
        ],
    )
    data = load_dataset(tmp_path, SEED)
    item, passed_over = data.items
    assert (item.title, item.attributes, item.categories) == ("A &amp; B", ("x",), ("c",))
    assert (item.hidden, item.metadata) == (True, {"n": "1"})
    assert passed_over.key.id == "z"
    early, late = data.events
    assert (early.user_id, early.time, early.metadata, early.event_id) == (
        "b",
        5_000,
        {"where": "shop"},
        "jsonl:b:a:5000",
    )
    assert (late.event_id, late.negative_id, late.weight, late.time) == (
        "first",
        "z",
        2.5,
        1_767_225_600_000,
    )


def test_without_times_the_order_of_lines_is_time(tmp_path):
    write(tmp_path, [CLIENT], [{"user_id": str(n), "item_id": "a"} for n in range(20)])
    assert [event.user_id for event in load_dataset(tmp_path, SEED).events] == [
        str(n) for n in range(20)
    ]


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"user_id": "a"}, "item_id"),
        ({"user_id": "", "item_id": "a"}, "user_id"),
        ({"user_id": "a", "item_id": ["a"]}, "item_id"),
        ({"user_id": "a", "item_id": "a", "when": 3}, "when"),
        ({"user_id": "a", "item_id": "a", "time": "soon"}, "time"),
        ({"user_id": "a", "item_id": "a", "time": True}, "time"),
        ({"user_id": "a", "item_id": "a", "time": 9e15}, "time"),
        ({"user_id": "a", "item_id": "a", "weight": 0}, "weight"),
        ({"user_id": "a", "item_id": "a", "weight": float("nan")}, "weight"),
        ({"user_id": "a", "item_id": "a", "negative_item_id": "a"}, "negative_item_id"),
        ({"user_id": "a", "item_id": "a\nb"}, "item_id"),
        ({"user_id": "a", "item_id": "a", "metadata": [1]}, "metadata"),
        ({"user_id": "a", "item_id": "a", "event_id": "one"}, "event_id"),
        ([], ""),
    ],
)
def test_a_broken_event_names_file_line_and_field(tmp_path, event, field):
    good = {"user_id": "a", "item_id": "a", "event_id": "one"}
    if isinstance(event, dict) and "time" in event:
        good["time"] = 1
    write(tmp_path, [CLIENT], [good, event])
    with pytest.raises(BrokenData) as refusal:
        load_dataset(tmp_path, SEED)
    assert (refusal.value.file, refusal.value.line, refusal.value.field) == (
        "events.jsonl",
        3,
        field,
    )
    assert not re.search("should|required", refusal.value.problem), "in our words, not pydantic's"


@pytest.mark.parametrize(
    ("client", "field"),
    [
        ({"id": "b"}, "kind"),
        ({"kind": "shop", "id": "b"}, "kind"),
        ({"kind": "item", "id": "a"}, "id"),
        ({"kind": "item", "id": "b", "title": 3}, "title"),
        ({"kind": "item", "id": "b", "title": "x" * 8_001}, "title"),
        ({"kind": "item", "id": "b", "attributes": "x"}, "attributes"),
        ({"kind": "item", "id": "b", "hidden": "yes"}, "hidden"),
    ],
)
def test_a_broken_client_names_file_line_and_field(tmp_path, client, field):
    write(tmp_path, [CLIENT, client])
    with pytest.raises(BrokenData) as refusal:
        load_dataset(tmp_path, SEED)
    assert (refusal.value.file, refusal.value.line, refusal.value.field) == (
        "clients.jsonl",
        2,
        field,
    )
    assert not re.search("should|required", refusal.value.problem), "in our words, not pydantic's"


def test_a_line_that_is_not_json(tmp_path):
    write(tmp_path, [CLIENT])
    (tmp_path / "events.jsonl").write_text('{"user_id": "a"')
    with pytest.raises(BrokenData, match=r"events.jsonl, line 1: .*JSON"):
        load_dataset(tmp_path, SEED)


def test_an_attribute_called_unknown_is_the_callers_own(tmp_path):
    write(tmp_path, [{"kind": "item", "id": "a", "attributes": ["unknown", "none"]}])
    assert load_dataset(tmp_path, SEED).items[0].attributes == ("unknown", "none")


@pytest.mark.parametrize("line", ["[" * 100_000, '{"time": ' + "1" * 5_000 + "}"])
def test_a_line_that_no_reader_takes_is_named(tmp_path, line):
    write(tmp_path, [CLIENT])
    (tmp_path / "events.jsonl").write_text(line + "\n")
    with pytest.raises(BrokenData, match=r"events.jsonl, line 1: cannot be read"):
        load_dataset(tmp_path, SEED)
