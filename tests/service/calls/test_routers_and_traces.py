"""ListRouters, GetRouter, TracePropagation, GetProfile, RunRound and GetStatus after a round."""

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from tests.service.scenarios import ANN, catch_code, propagate_opera


async def test_a_line_is_traced_back_to_its_events(service):
    line = await propagate_opera(service)
    assert line.sources[0].message.router_name
    back = await service.stub.TracePropagation(
        pb.TracePropagationRequest(line=pb.LineOfProfile(client=ANN, line_id=line.id))
    )
    kinds = [hop.WhichOneof("hop") for hop in back.paths[0].hops]
    assert kinds[-4:] == ["profile", "attribute", "message", "profile"]
    assert "went to router" in back.paths[0].text
    assert back.paths[0].hops[-1].profile.line == line, "its senders too"


async def test_an_event_is_traced_to_the_profiles_that_it_reached(service):
    await propagate_opera(service)
    forward = await service.stub.TracePropagation(
        pb.TracePropagationRequest(event_id="bob-i15", limit=1_000)
    )
    reached = {
        key.id for path in forward.paths for key in path.hops[-1].profile.client.clients.keys
    }
    assert "ann" in reached


async def test_a_trace_of_a_client_is_cut_at_the_limit(service):
    await propagate_opera(service)
    by_client = await service.stub.TracePropagation(
        pb.TracePropagationRequest(client=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="bob"), limit=1)
    )
    assert len(by_client.paths) == 1
    assert by_client.truncated


async def test_routers_of_both_banks_page_by_page(service):
    await propagate_opera(service)
    first = await service.stub.ListRouters(pb.ListRoutersRequest(page_size=5))
    rest = await service.stub.ListRouters(
        pb.ListRoutersRequest(page_size=5, page_token=first.next_page_token)
    )
    assert [(router.bank, router.number) for router in (*first.routers, *rest.routers)] == [
        (bank, number) for bank in (pb.BANK_TASTE, pb.BANK_SESSION) for number in range(4)
    ]
    assert not rest.next_page_token


async def test_members_of_routers_of_both_banks(service):
    await propagate_opera(service)
    taste = await service.stub.ListRouters(pb.ListRoutersRequest(bank=pb.BANK_TASTE))
    busiest = max(taste.routers, key=lambda router: router.members)
    answer = await service.stub.GetRouter(
        pb.GetRouterRequest(number=busiest.number, page_size=1_000)
    )
    assert len(answer.members) == busiest.members > 0
    session = await service.stub.GetRouter(pb.GetRouterRequest(number=0, bank=pb.BANK_SESSION))
    assert any(member.client.kind == pb.CLIENT_KIND_ITEM for member in session.members)


async def list_routers_of(service, kind, id_, **fields):
    request = pb.ListRoutersRequest(member=pb.ClientKey(kind=kind, id=id_), **fields)
    return [(one.bank, one.number) for one in (await service.stub.ListRouters(request)).routers]


async def test_the_routers_whose_table_holds_a_client(service):
    await propagate_opera(service)
    tables = {}
    for number in range(4):
        answer = await service.stub.GetRouter(pb.GetRouterRequest(number=number, page_size=1_000))
        for member in answer.members:
            key = (member.client.kind, member.client.id)
            tables.setdefault(key, []).append((pb.BANK_TASTE, number))
    assert (ANN.kind, ANN.id) in tables
    assert (pb.CLIENT_KIND_ITEM, "i15") in tables
    for kind, id_ in tables:
        assert await list_routers_of(service, kind, id_) == tables[kind, id_]
        assert len(await list_routers_of(service, kind, id_, page_size=1)) == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"id_": "nobody"}, "NOT_FOUND"),
        ({"id_": ""}, "INVALID_ARGUMENT"),
        ({"id_": "ann", "bank": pb.BANK_SESSION}, "INVALID_ARGUMENT"),
        ({"id_": "ann", "as_of": pb.AsOf(sequence=1)}, "INVALID_ARGUMENT"),
    ],
)
async def test_routers_of_a_client_that_cannot_be_asked_for(service, fields, code):
    await propagate_opera(service)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await list_routers_of(service, pb.CLIENT_KIND_USER, **fields)
    assert caught.value.code().name == code


@pytest.mark.parametrize(
    ("role", "user", "rare"),
    [("read", False, False), ("persons", True, False), ("analyst", True, True)],
)
async def test_routers_of_a_client_are_shown_by_role(start_service, role, user, rare):
    """Two users chose i15, so a reader is not told in which tables it is."""
    async with start_service(auto_create=True) as service:
        await propagate_opera(service)
    async with start_service(roles=[Role(role)], min_support=3) as service:
        assert bool(await list_routers_of(service, pb.CLIENT_KIND_ITEM, "i15")) == rare
        assert await list_routers_of(service, pb.CLIENT_KIND_ITEM, "i0"), "three users chose it"
        asked = catch_code(list_routers_of(service, pb.CLIENT_KIND_USER, "ann"))
        assert await asked == (grpc.StatusCode.OK if user else grpc.StatusCode.PERMISSION_DENIED)


async def test_a_page_token_of_another_question_is_refused(service):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.ListRouters(pb.ListRoutersRequest(page_token="bm9uc2Vuc2U="))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("number", "code"),
    [(-1, "INVALID_ARGUMENT"), (10_000, "NOT_FOUND"), (None, "INVALID_ARGUMENT")],
)
async def test_a_router_that_does_not_exist(service, number, code):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetRouter(pb.GetRouterRequest(number=number))
    assert caught.value.code().name == code


async def test_without_propagation_received_lines_are_left_out(service):
    await propagate_opera(service)
    answer = await service.stub.GetProfile(pb.GetProfileRequest(key=ANN, propagate=False))
    assert pb.AUTHOR_RECEPTION not in {line.author for line in answer.profile.lines}


async def test_a_sequence_that_is_not_reached_is_unavailable(service):
    await propagate_opera(service)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetProfile(
            pb.GetProfileRequest(key=ANN, min_sequence=10_000), timeout=0.5
        )
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    assert "not reflected" in caught.value.details()


async def test_the_status_counts_clients_and_rounds(service):
    await propagate_opera(service)
    status = await service.stub.GetStatus(pb.GetStatusRequest())
    assert status.users == 3
    assert status.items == 20
    assert status.last_round.number >= 1
    assert not status.failing


async def test_a_round_that_did_not_run_says_why(service):
    stub, store = service.stub, service.engine.store
    empty = await stub.RunRound(pb.RunRoundRequest())
    assert "first round" in empty.note
    await propagate_opera(service)
    last = (await stub.RunRound(pb.RunRoundRequest(drain=True))).round
    unchanged = await stub.RunRound(pb.RunRoundRequest(drain=True))
    assert f"round {last.number}" in unchanged.note
    lease = await store.acquire_lease("round", service.engine.leases.holder, 60_000)
    await store.release_lease(lease)
    await store.acquire_lease("round", "another process", 60_000)
    elsewhere = await stub.RunRound(pb.RunRoundRequest())
    assert "another process" in elsewhere.note
