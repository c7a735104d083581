"""Every format refuses what the service would refuse, and names file, line and field."""

import json

import pytest

from propagation.datasets.load import load_dataset
from propagation.model import BrokenData, ClientKind, InvalidInput
from propagation.v1 import propagation_pb2 as pb
from propagation_client.paging import BYTES_A_CALL
from services.client.upload import upload
from services.grpc.requests import parse_client_change, parse_interaction

SEED = 7
LONE = "\ud800"
EVENT = {"user_id": "u", "item_id": "i"}
ITEM = {"kind": "item", "id": "i"}
MANY = {f"k{place}": "v" for place in range(65)}


def catch_refusal(folder):
    with pytest.raises(BrokenData) as found:
        load_dataset(folder, SEED)
    return found.value


def locate(error):
    return error.file, error.line, error.field


def write_lines(folder, name, *rows):
    (folder / name).write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )
    return folder


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"metadata": {"a": "x" * 9_000}}, "metadata"),
        ({"metadata": {"a": "x" * 7_999, "bb": ""}}, "metadata"),
        ({"metadata": MANY}, "metadata"),
        ({"metadata": {"a": "b\0"}}, "metadata"),
        ({"metadata": {"a": LONE}}, "metadata"),
        ({"metadata": {LONE: "a"}}, "metadata"),
        ({"user_id": LONE}, "user_id"),
        ({"user_id": "gtail\n"}, "user_id"),
        ({"user_id": 1.5}, "user_id"),
        ({"user_id": "ü" * 129}, "user_id"),
        ({"event_id": LONE}, "event_id"),
        ({"negative_item_id": "a\x7f"}, "negative_item_id"),
        ({"weight": 10**400}, "weight"),
        ({"weight": 10.1}, "weight"),
        ({LONE: 1}, "\\ud800"),
    ],
)
def test_an_event_beyond_a_limit(tmp_path, wrong, field):
    write_lines(tmp_path, "events.jsonl", EVENT, {**EVENT, **wrong})
    assert locate(catch_refusal(tmp_path)) == ("events.jsonl", 2, field)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"metadata": {"a": "x" * 9_000}}, "metadata"),
        ({"metadata": MANY}, "metadata"),
        ({"title": LONE}, "title"),
        ({"title": "a\0b"}, "title"),
        ({"description": "x" * 8_001}, "description"),
        ({"attributes": ["fine", "x" * 300]}, "attributes[1]"),
        ({"attributes": ["x", " "]}, "attributes[1]"),
        ({"categories": [LONE]}, "categories[0]"),
        ({"attributes": [f"a{place}" for place in range(65)]}, "attributes"),
    ],
)
def test_a_client_beyond_a_limit(tmp_path, wrong, field):
    write_lines(tmp_path, "clients.jsonl", ITEM, {**ITEM, "id": "j", **wrong})
    assert locate(catch_refusal(tmp_path)) == ("clients.jsonl", 2, field)


def test_the_message_is_the_services_own_with_the_place_before_it(tmp_path):
    long = {"a": "x" * 9_000}
    write_lines(tmp_path, "events.jsonl", EVENT, {**EVENT, "metadata": long})
    with pytest.raises(InvalidInput) as service:
        parse_interaction(pb.Interaction(event_id="e", user_id="u", item_id="i", metadata=long), 0)
    assert str(catch_refusal(tmp_path)) == f"events.jsonl, line 2, {service.value}"


@pytest.mark.parametrize(
    "line",
    [
        '{"user_id": "u", "item_id": "a", "item_id": "b"}',
        '{"user_id": "u", "item_id": "a", "metadata": {"item_id": 1, "item_id": 2}}',
    ],
)
def test_a_name_that_stands_twice_in_an_object(tmp_path, line):
    write_lines(tmp_path, "events.jsonl", EVENT, line)
    assert locate(catch_refusal(tmp_path)) == ("events.jsonl", 2, "item_id")


def test_what_json_lines_say_is_taken_exactly(tmp_path):
    client = {
        "kind": "user",
        "id": "  ws  ",
        "title": " <b>a</b> &amp;\n b",
        "attributes": ["a  b", "a  b", "x" * 256],
    }
    write_lines(
        tmp_path, "clients.jsonl", client, {"kind": "user", "id": "ws"}, {"kind": "item", "id": 5}
    )
    write_lines(tmp_path, "events.jsonl", {"user_id": "  ws  ", "item_id": 5})
    data = load_dataset(tmp_path, SEED)
    assert [user.key.id for user in data.users] == ["  ws  ", "ws"]
    assert (data.users[0].title, data.users[0].attributes) == (
        client["title"],
        tuple(client["attributes"]),
    )
    assert [(event.user_id, event.item_id) for event in data.events] == [("  ws  ", "5")]


def test_what_the_loader_takes_at_the_limit_the_service_takes(tmp_path):
    full = {"k": "x" * 7_999}
    write_lines(
        tmp_path,
        "clients.jsonl",
        {
            **ITEM,
            "title": "x" * 8_000,
            "metadata": full,
            "attributes": [f"a{n}" for n in range(64)],
        },
    )
    write_lines(
        tmp_path,
        "events.jsonl",
        {"user_id": "u" * 256, "item_id": "i", "metadata": full, "weight": 10},
    )
    data = load_dataset(tmp_path, SEED)
    (item,), (event,) = data.items, data.events
    given = pb.Client(
        key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id="i"),
        title=item.title,
        attributes=item.attributes,
        metadata=item.metadata,
    )
    assert parse_client_change(given, None, "client").key.kind == ClientKind.ITEM
    assert (
        parse_interaction(
            pb.Interaction(
                event_id=event.event_id,
                user_id=event.user_id,
                item_id="i",
                metadata=event.metadata,
                weight=event.weight,
            ),
            0,
        ).weight
        == 10
    )


def test_a_time_that_rounds_to_beyond_the_last(tmp_path):
    write_lines(tmp_path, "events.jsonl", {**EVENT, "time": "9998-12-31T23:59:59.999999Z"})
    assert locate(catch_refusal(tmp_path)) == ("events.jsonl", 1, "time")


def test_a_date_of_a_late_year_is_no_number_of_milliseconds(tmp_path):
    write_lines(tmp_path, "events.jsonl", {**EVENT, "time": "9998-12-31T23:59:59Z"})
    (event,) = load_dataset(tmp_path, SEED).events
    assert event.time == 253_370_764_799_000


def test_movielens_100k(tmp_path):
    write_lines(tmp_path, "u.data", "1\t1\t3\t20", f"1\t1\t{'0' * 8_000}3\t20")
    assert locate(catch_refusal(tmp_path)) == ("u.data", 2, "metadata")
    write_lines(tmp_path, "u.data", "1\t1\t3\t20")
    write_lines(tmp_path, "u.user", "1|24|M|writer|85711", "2|24|M|wri\0ter|85711")
    assert locate(catch_refusal(tmp_path)) == ("u.user", 2, "metadata")


def test_movielens_later(tmp_path):
    write_lines(tmp_path, "ratings.dat", "1::1::3::20", "1::\x01a::3::20")
    assert locate(catch_refusal(tmp_path)) == ("ratings.dat", 2, "movieId")
    write_lines(tmp_path, "ratings.dat", f"1::1::{'0' * 8_000}3::20")
    assert locate(catch_refusal(tmp_path)) == ("ratings.dat", 1, "metadata")


def test_recbole(tmp_path):
    write_lines(
        tmp_path, "x.inter", "user_id:token\titem_id:token\tnote:token", "u\ti\tfine", "u\ti\ta\0b"
    )
    assert locate(catch_refusal(tmp_path)) == ("x.inter", 3, "metadata")
    wide = "\t".join(f"f{place}:token" for place in range(65))
    write_lines(tmp_path, "x.inter", f"user_id:token\titem_id:token\t{wide}", "u\ti" + "\tx" * 65)
    assert locate(catch_refusal(tmp_path)) == ("x.inter", 2, "metadata")
    write_lines(tmp_path, "x.inter", "user_id:token\titem_id:token", "u\ti")
    write_lines(
        tmp_path, "x.item", f"item_id:token\t{wide}", "i" + "\tx" * 64 + "\t", "j" + "\tx" * 65
    )
    assert locate(catch_refusal(tmp_path)) == ("x.item", 3, "metadata")


class Counting:
    """Records the sizes of the calls that an upload makes."""

    def __init__(self):
        self.sizes = []

    async def RecordInteractions(self, request):  # noqa: N802 - the service's name
        self.sizes.append(request.ByteSize())
        return pb.RecordInteractionsResponse(
            outcomes=[
                pb.InteractionOutcome(status=pb.INTERACTION_STATUS_ACCEPTED)
                for _ in request.interactions
            ]
        )


async def test_calls_with_long_metadata_stay_below_the_services_size(tmp_path):
    write_lines(
        tmp_path, "events.jsonl", *({**EVENT, "metadata": {"a": "ü" * 7_000}} for _ in range(400))
    )
    calls = Counting()
    report = await upload(calls, [], load_dataset(tmp_path, SEED).events)
    assert report.outcomes == {"accepted": 400}
    assert len(calls.sizes) > 1
    assert max(calls.sizes) < BYTES_A_CALL * 1.01
