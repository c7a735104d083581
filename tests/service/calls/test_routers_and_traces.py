"""ListRouters, GetRouter, TracePropagation, GetProfile's sources and GetStatus after a preference
has travelled."""

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb

ANN = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann")


async def travelled(service):
    """bob and cid turn to opera; ann hears of it."""
    stub = service.stub
    await stub.UpsertClients(
        pb.UpsertClientsRequest(
            clients=[
                pb.Client(
                    key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=f"i{n}"),
                    title=f"Record {n}",
                    attributes=["jazz" if n < 10 else "opera"],
                )
                for n in range(20)
            ]
        )
    )
    for wave in (
        [(user, f"i{n}") for user in ("ann", "bob", "cid") for n in range(4)],
        [("bob", "i15"), ("cid", "i15")],
    ):
        await stub.RecordInteractions(
            pb.RecordInteractionsRequest(
                interactions=[
                    pb.Interaction(event_id=f"{user}-{item}", user_id=user, item_id=item)
                    for user, item in wave
                ]
            )
        )
        await stub.RunRound(pb.RunRoundRequest(drain=True))
    answer = await stub.GetProfile(pb.GetProfileRequest(key=ANN, freshness=pb.FRESHNESS_MERGED))
    return next(line for line in answer.profile.lines if line.author == pb.AUTHOR_RECEPTION)


async def test_a_preference_is_traced_both_ways(service):
    heard = await travelled(service)
    assert heard.sources[0].message.router_name
    back = await service.stub.TracePropagation(
        pb.TracePropagationRequest(line=pb.LineOfProfile(client=ANN, line_id=heard.id))
    )
    kinds = [hop.WhichOneof("hop") for hop in back.paths[0].hops]
    assert kinds[-4:] == ["profile", "attribute", "message", "profile"]
    assert "went to router" in back.paths[0].text
    forward = await service.stub.TracePropagation(
        pb.TracePropagationRequest(event_id="bob-i15", limit=1_000)
    )
    reached = {
        key.id for path in forward.paths for key in path.hops[-1].profile.client.clients.keys
    }
    assert "ann" in reached
    by_client = await service.stub.TracePropagation(
        pb.TracePropagationRequest(client=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="bob"), limit=1)
    )
    assert len(by_client.paths) == 1
    assert by_client.truncated


async def test_routers_of_both_banks_page_by_page(service):
    await travelled(service)
    first = await service.stub.ListRouters(pb.ListRoutersRequest(page_size=5))
    rest = await service.stub.ListRouters(
        pb.ListRoutersRequest(page_size=5, page_token=first.next_page_token)
    )
    assert [(router.bank, router.number) for router in (*first.routers, *rest.routers)] == [
        (bank, number) for bank in (pb.BANK_TASTE, pb.BANK_SESSION) for number in range(4)
    ]
    assert not rest.next_page_token
    busiest = max(first.routers[:4], key=lambda router: router.members)
    answer = await service.stub.GetRouter(
        pb.GetRouterRequest(number=busiest.number, page_size=1_000)
    )
    assert len(answer.members) == busiest.members > 0
    session = await service.stub.GetRouter(pb.GetRouterRequest(number=0, bank=pb.BANK_SESSION))
    assert any(member.client.kind == pb.CLIENT_KIND_ITEM for member in session.members)


async def test_a_token_of_another_question_is_refused(service):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.ListRouters(pb.ListRoutersRequest(page_token="bm9uc2Vuc2U="))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("number", "code"),
    [(-1, "INVALID_ARGUMENT"), (10_000, "NOT_FOUND"), (None, "INVALID_ARGUMENT")],
)
async def test_a_router_that_there_is_not(service, number, code):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetRouter(pb.GetRouterRequest(number=number))
    assert caught.value.code().name == code


async def test_without_propagation_what_was_heard_is_left_out(service):
    await travelled(service)
    answer = await service.stub.GetProfile(pb.GetProfileRequest(key=ANN, propagate=False))
    assert pb.AUTHOR_RECEPTION not in {line.author for line in answer.profile.lines}


async def test_a_sequence_that_does_not_come_is_unavailable_and_says_how_far(service):
    heard = await travelled(service)
    assert heard
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetProfile(
            pb.GetProfileRequest(key=ANN, min_sequence=10_000), timeout=0.5
        )
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    assert "reached" in caught.value.details()


async def test_status_says_how_far_everything_is(service):
    await travelled(service)
    status = await service.stub.GetStatus(pb.GetStatusRequest())
    assert status.users == 3
    assert status.items == 20
    assert status.last_round.number >= 1
    assert not status.failing


async def test_a_round_that_did_not_run_says_why(service):
    stub, store = service.stub, service.engine.store
    empty = await stub.RunRound(pb.RunRoundRequest())
    assert empty.note == "there is nothing for a first round yet"
    await travelled(service)
    last = (await stub.RunRound(pb.RunRoundRequest(drain=True))).round
    unchanged = await stub.RunRound(pb.RunRoundRequest(drain=True))
    assert unchanged.note.startswith(f"nothing had changed since round {last.number}")
    lease = await store.acquire_lease("round", service.engine.leases.holder, 60_000)
    await store.release_lease(lease)
    await store.acquire_lease("round", "another process", 60_000)
    elsewhere = await stub.RunRound(pb.RunRoundRequest())
    assert "another process" in elsewhere.note
