"""ListClientEvents over real gRPC."""

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from tests.service.scenarios import ANN, ITEM, USER, catch_code, record_choices
from tests.service.status_details import read_field_violation


async def list_events(service, key, size=100) -> list[pb.ClientEvent]:
    found, token = [], ""
    while True:
        request = pb.ListClientEventsRequest(key=key, page_size=size, page_token=token)
        answer = await service.stub.ListClientEvents(request)
        assert len(answer.events) <= size
        found += answer.events
        token = answer.next_page_token
        if not token:
            return found


@pytest.mark.parametrize("size", [1, 2, 100])
async def test_events_come_newest_first_with_those_taken_back(service, size):
    event = pb.Interaction(
        event_id="whole",
        user_id="ann",
        item_id="i9",
        negative_item_id="i8",
        weight=2.5,
        metadata={"shop": "north"},
    )
    event.time.FromSeconds(1_700_000_000)
    await record_choices(service, [(f"e{n}", "ann", f"i{n}") for n in range(3)])
    await service.stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=[event]))
    await record_choices(service, [("bob", "bob", "i1")])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    await service.stub.RetractInteractions(pb.RetractInteractionsRequest(event_ids=["e1"]))
    found = await list_events(service, ANN, size)
    assert [one.interaction.event_id for one in found] == ["whole", "e2", "e1", "e0"]
    assert [one.retracted for one in found] == [False, False, True, False]
    assert found[0].interaction == event
    assert found[0].recorded_at.seconds > 1_700_000_000
    gone = pb.Interaction(event_id="e1", user_id="ann", item_id="i1")
    assert found[2].interaction == gone
    assert not found[2].HasField("recorded_at")
    of_item = await list_events(service, pb.ClientKey(kind=ITEM, id="i1"), size)
    assert [(one.interaction.user_id, one.retracted) for one in of_item] == [
        ("bob", False),
        ("ann", True),
    ]
    sequences = [one.sequence for one in found]
    assert sequences == sorted(sequences, reverse=True)


async def test_what_is_wrong_is_named(service):
    await record_choices(service, [(f"e{n}", "ann", f"i{n}") for n in range(3)])
    unknown = pb.ListClientEventsRequest(key=pb.ClientKey(kind=USER, id="nobody"))
    assert await catch_code(service.stub.ListClientEvents(unknown)) == grpc.StatusCode.NOT_FOUND
    first = pb.ListClientEventsRequest(key=ANN, page_size=1)
    token = (await service.stub.ListClientEvents(first)).next_page_token
    for fields, field in (
        ({}, "key.kind"),
        ({"key": pb.ClientKey(kind=USER)}, "key.id"),
        ({"key": ANN, "page_size": 0}, "page_size"),
        ({"key": ANN, "page_token": token[:-1] + "9"}, "page_token"),
        ({"key": pb.ClientKey(kind=ITEM, id="i1"), "page_token": token}, "page_token"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await service.stub.ListClientEvents(pb.ListClientEventsRequest(**fields))
        assert read_field_violation(caught.value).field == field


@pytest.mark.parametrize("role", Role)
async def test_the_list_needs_the_role_of_an_export(start_service, role):
    async with start_service(roles=(role,)) as service:
        code = await catch_code(service.stub.ListClientEvents(pb.ListClientEventsRequest(key=ANN)))
    refused = grpc.StatusCode.PERMISSION_DENIED
    assert code == (grpc.StatusCode.NOT_FOUND if role == Role.ADMIN else refused)
