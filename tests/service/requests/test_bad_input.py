"""Bad input: a status or an outcome names the field, nothing is half applied, streams go on."""

import math

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc.error_details_pb2 import ErrorInfo

from propagation.v1 import propagation_pb2 as pb
from services.grpc.interceptor import refuse_late_call
from services.grpc.status import build_status
from services.runtime.errors import OutOfTime
from tests.service.status_details import read_field_violation

ACCEPTED, DUPLICATE, REJECTED = (
    pb.INTERACTION_STATUS_ACCEPTED,
    pb.INTERACTION_STATUS_DUPLICATE,
    pb.INTERACTION_STATUS_REJECTED,
)


def event(**fields) -> pb.Interaction:
    return pb.Interaction(**{"event_id": "e", "user_id": "ann", "item_id": "i", **fields})


async def record(service, *events):
    answer = await service.stub.RecordInteractions(
        pb.RecordInteractionsRequest(interactions=events)
    )
    return list(answer.outcomes)


def item(id_: str, **fields) -> pb.Client:
    return pb.Client(key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=id_), **fields)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"event_id": ""}, "event_id"),
        ({"event_id": "x" * 257}, "event_id"),
        ({"event_id": "€" * 86}, "event_id"),
        ({"user_id": ""}, "user_id"),
        ({"item_id": ""}, "item_id"),
        ({"user_id": "a\nb"}, "user_id"),
        ({"item_id": "a\x00b"}, "item_id"),
        ({"negative_item_id": "i"}, "negative_item_id"),
        ({"negative_item_id": ""}, "negative_item_id"),
        ({"weight": 0.0}, "weight"),
        ({"weight": -1.0}, "weight"),
        ({"weight": math.nan}, "weight"),
        ({"weight": math.inf}, "weight"),
        ({"weight": 10.5}, "weight"),
        ({"time": Timestamp(seconds=-1)}, "time"),
        ({"time": Timestamp(seconds=253_400_000_000)}, "time"),
        ({"time": Timestamp(seconds=1, nanos=-5)}, "time"),
        ({"metadata": {str(n): "" for n in range(65)}}, "metadata"),
        ({"metadata": {"k": "v" * 8_001}}, "metadata"),
    ],
)
async def test_a_bad_event_is_rejected_and_a_good_one_is_recorded(service, fields, field):
    bad, good = await record(service, event(**fields), event(event_id="good"))
    assert (bad.status, bad.field, bad.reason) == (REJECTED, field, "INVALID")
    assert bad.detail
    assert (good.status, good.sequence > 0) == (ACCEPTED, True)


async def test_an_id_that_is_too_long_is_not_sent_back_whole(service):
    longest, outcome = await record(
        service, event(event_id="x" * 256, weight=-1.0), event(event_id="x" * 3_000_000)
    )
    assert longest.event_id == "x" * 256
    assert (outcome.field, outcome.event_id) == ("event_id", "x" * 256)
    assert outcome.ByteSize() < 500


async def test_an_attribute_that_nobody_has_is_not_sent_back_whole(service):
    """Trailers of more than some kilobytes do not reach a caller."""
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await service.stub.TracePropagation(pb.TracePropagationRequest(attribute="名" * 256))
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND
    assert len(refused.value.details()) < 200


IDS = [
    "O'Brien",
    '"; DROP TABLE client; --',
    "x'}) DETACH DELETE n //",
    "名前",
    "\N{ZERO WIDTH JOINER}",
    "é",
    "a b",
    "e\N{COMBINING ACUTE ACCENT}",
    "🎷" * 60,
    "$(rm -rf)",
    "\\u0000",
    "%s{}",
    "\N{LINE SEPARATOR}",
]


@pytest.mark.parametrize("id_", IDS)
async def test_any_other_id_is_accepted(service, id_):
    (outcome,) = await record(service, event(event_id=id_, user_id=id_, item_id=id_))
    assert outcome.status == ACCEPTED
    key = pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=id_)
    answer = await service.stub.GetProfile(pb.GetProfileRequest(key=key))
    assert answer.profile.key == key
    (again,) = await record(service, event(event_id=id_, user_id=id_, item_id=id_))
    assert (again.status, again.sequence) == (DUPLICATE, outcome.sequence)


async def test_the_same_event_id_with_other_content_is_refused(service):
    first, repeat, other = await record(service, event(), event(), event(item_id="other"))
    assert (first.status, repeat.status, repeat.sequence) == (ACCEPTED, DUPLICATE, first.sequence)
    assert (other.status, other.field, other.reason) == (REJECTED, "event_id", "CONFLICT")
    (later,) = await record(service, event(weight=2.0))
    assert later.reason == "CONFLICT"


async def test_unknown_clients_are_rejected_unless_auto_create(start_service):
    async with start_service() as service:
        (outcome,) = await record(service, event())
        assert (outcome.status, outcome.field, outcome.reason) == (REJECTED, "user_id", "UNKNOWN")
        user = pb.Client(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann"))
        await service.stub.UpsertClients(pb.UpsertClientsRequest(clients=[user]))
        (outcome,) = await record(service, event())
        assert (outcome.field, outcome.reason) == ("item_id", "UNKNOWN")
        await service.stub.UpsertClients(pb.UpsertClientsRequest(clients=[item("i")]))
        missing, known = await record(service, event(negative_item_id="j"), event())
        assert (missing.field, missing.reason) == ("negative_item_id", "UNKNOWN")
        assert known.status == ACCEPTED
    async with start_service(auto_create=True) as service:
        assert (await record(service, event(event_id="new", user_id="bob", negative_item_id="j")))[
            0
        ].status == ACCEPTED


async def test_too_many_events_in_one_call(service):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await record(service, *(event(event_id=str(n)) for n in range(10_000)))
    assert read_field_violation(caught.value).field == "interactions"
    assert "at most 1000" in read_field_violation(caught.value).description
    assert await service.engine.store.get_recorded_through() == 0


@pytest.mark.parametrize(
    ("client", "field"),
    [
        (item(""), "clients[1].key.id"),
        (item("x" * 257), "clients[1].key.id"),
        (item("a\tb"), "clients[1].key.id"),
        (pb.Client(key=pb.ClientKey(id="x")), "clients[1].key.kind"),
        (pb.Client(key=pb.ClientKey(id="x", kind=7)), "clients[1].key.kind"),
        (item("b", title="x" * 8_001), "clients[1].title"),
        (item("b", description="\0"), "clients[1].description"),
        (item("b", attributes=["x"] * 65), "clients[1].attributes"),
        (item("b", categories=[" "]), "clients[1].categories[0]"),
        (item("b", attributes=["x" * 257]), "clients[1].attributes[0]"),
        (item("b", metadata={"k": "v" * 8_001}), "clients[1].metadata"),
    ],
)
async def test_a_bad_client_refuses_the_whole_call(service, client, field):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.UpsertClients(pb.UpsertClientsRequest(clients=[item("a"), client]))
    assert read_field_violation(caught.value).field == field
    assert await service.engine.store.get_recorded_through() == 0


async def test_an_unknown_field_of_the_mask_is_named(service):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.UpsertClients(
            pb.UpsertClientsRequest(clients=[item("a")], field_mask=FieldMask(paths=["titel"]))
        )
    assert read_field_violation(caught.value).field == "field_mask.paths[0]"


async def test_a_call_past_its_deadline_does_nothing(service):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.RecordInteractions(
            pb.RecordInteractionsRequest(interactions=[event()]), timeout=0
        )
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert await service.engine.store.get_recorded_through() == 0


async def test_a_deadline_that_leaves_no_time_has_details():
    class LateContext:
        def time_remaining(self):
            return 0.0

    with pytest.raises(OutOfTime) as caught:
        refuse_late_call(LateContext())
    code, status = build_status(caught.value, str)
    info = ErrorInfo()
    assert code == grpc.StatusCode.DEADLINE_EXCEEDED
    assert status.details[0].Unpack(info)
    assert info.reason == "OUT_OF_TIME"


async def test_a_bad_event_does_not_end_the_stream(service):
    sent = [event(event_id="1"), event(event_id="2", weight=math.nan), event(event_id="3")]
    call = service.stub.StreamInteractions(
        pb.StreamInteractionsRequest(interaction=one) for one in sent
    )
    outcomes = [answer.outcome async for answer in call]
    assert [outcome.event_id for outcome in outcomes] == ["1", "2", "3"]
    assert [outcome.status for outcome in outcomes] == [ACCEPTED, REJECTED, ACCEPTED]
    assert outcomes[1].field == "weight"


MALFORMED = b"\x0a\x0b\x0a\x03\xed\xa0\x80\x12\x02u1\x1a\x02i1"


async def test_malformed_bytes_are_bad_input(service):
    call = service.channel.unary_unary(
        "/propagation.v1.PropagationService/RecordInteractions",
        request_serializer=lambda data: data,
    )
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call(MALFORMED)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "UTF-8" in str(refused.value.details())


@pytest.mark.parametrize("call", ["WatchPropagation", "ExportClient"])
async def test_malformed_bytes_are_bad_input_of_a_call_that_streams_its_answer(service, call):
    stream = service.channel.unary_stream(
        f"/propagation.v1.PropagationService/{call}", request_serializer=lambda data: data
    )(b"\xff")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stream.read()
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


async def test_a_stream_goes_on_after_malformed_bytes(service):
    good = pb.StreamInteractionsRequest(
        interaction=pb.Interaction(event_id="good", user_id="u", item_id="i")
    ).SerializeToString()
    stream = service.channel.stream_stream(
        "/propagation.v1.PropagationService/StreamInteractions",
        request_serializer=lambda data: data,
        response_deserializer=pb.StreamInteractionsResponse.FromString,
    )(iter([MALFORMED, good]))
    statuses = [answer.outcome.status async for answer in stream]
    assert statuses == [pb.INTERACTION_STATUS_REJECTED, pb.INTERACTION_STATUS_ACCEPTED]


@pytest.mark.parametrize(("kind", "problem"), [(0, "is unspecified"), (7, "is 7;")])
async def test_an_unknown_kind_differs_from_a_missing_one(service, kind, problem):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetProfile(pb.GetProfileRequest(key=pb.ClientKey(kind=kind, id="x")))
    assert read_field_violation(caught.value).description.startswith(problem)


LONG = "x" * 20_000


@pytest.mark.parametrize(
    ("call", "request_", "field"),
    [
        ("Recommend", pb.RecommendRequest(user_id=LONG), "user_id"),
        ("Recommend", pb.RecommendRequest(user_id="u", attributes=[LONG]), "attributes[0]"),
        ("Recommend", pb.RecommendRequest(user_id="u", categories=["x"] * 65), "categories"),
        ("Recommend", pb.RecommendRequest(user_id="u", categories=["a", LONG]), "categories[1]"),
        (
            "Recommend",
            pb.RecommendRequest(user_id="u", candidate_ids=[LONG]),
            "candidate_ids[0]",
        ),
        ("TracePropagation", pb.TracePropagationRequest(attribute=LONG), "attribute"),
        ("TracePropagation", pb.TracePropagationRequest(attribute=" "), "attribute"),
        ("TracePropagation", pb.TracePropagationRequest(attribute="a" * 257), "attribute"),
        ("TracePropagation", pb.TracePropagationRequest(event_id=LONG), "event_id"),
        ("RetractInteractions", pb.RetractInteractionsRequest(event_ids=[LONG]), "event_ids[0]"),
        ("WatchPropagation", pb.WatchPropagationRequest(resume_token=LONG), "resume_token"),
        ("ListRouters", pb.ListRoutersRequest(page_token=LONG), "page_token"),
        ("GetRouter", pb.GetRouterRequest(number=0, page_token=LONG), "page_token"),
        ("ListEvolutionRuns", pb.ListEvolutionRunsRequest(page_token=LONG), "page_token"),
        (
            "UpsertClients",
            pb.UpsertClientsRequest(field_mask=FieldMask(paths=["title"] * 7)),
            "field_mask.paths",
        ),
    ],
)
async def test_every_text_of_a_request_has_a_limit(service, call, request_, field):
    answer = getattr(service.stub, call)(request_)
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await (answer.read() if call == "WatchPropagation" else answer)
    assert refusal.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert read_field_violation(refusal.value).field == field
