"""Events while calls are answered: a new client with text, a bootstrap, a stop."""

import asyncio
import contextlib

import grpc

from propagation.v1 import propagation_pb2 as pb
from tests.service.scenarios import plant_two_communities, propagate_opera
from tests.waiting import wait_until

USER, ITEM = pb.CLIENT_KIND_USER, pb.CLIENT_KIND_ITEM


async def test_a_new_client_with_text_receives_its_routers_messages_at_once(service):
    """Cold start: the client has no interaction, and no round has run since."""
    await propagate_opera(service)
    rounds = await service.engine.store.get_last_round()
    new = pb.Client(
        key=pb.ClientKey(kind=USER, id="new"), description="opera", attributes=["opera"]
    )
    upserted = await service.stub.UpsertClients(pb.UpsertClientsRequest(clients=[new]))
    event = pb.Interaction(event_id="other", user_id="bob", item_id="i16")
    recorded = await service.stub.RecordInteractions(
        pb.RecordInteractionsRequest(interactions=[event])
    )
    answer = await service.stub.GetProfile(
        pb.GetProfileRequest(
            key=new.key,
            freshness=pb.FRESHNESS_MERGED,
            min_sequence=max(upserted.sequence, recorded.sequence),
        )
    )
    authors = [line.author for line in answer.profile.lines]
    assert pb.AUTHOR_CATALOGUE in authors
    assert pb.AUTHOR_RECEPTION in authors
    assert await service.engine.store.get_last_round() == rounds
    ranked = await service.stub.Recommend(
        pb.RecommendRequest(user_id="new", limit=20, explain=True)
    )
    assert ranked.cold
    shared = {
        item.item_id
        for item in ranked.recommendations
        if any(part.feature == "attributes" and part.raw > 0 for part in item.explanation.parts)
    }
    assert shared == {f"i{n}" for n in range(10, 20)}


async def test_bootstrap_while_serving_disturbs_no_call(start_service):
    async with start_service(auto_create=True, bootstrap_items=30) as service:
        stop, answered = asyncio.Event(), 0

        async def keep_calling(name):
            nonlocal answered
            number = 0
            while not stop.is_set():
                event = pb.Interaction(
                    event_id=f"{name}-{number}", user_id=name, item_id=f"i{number % 30}"
                )
                ack = await service.stub.RecordInteractions(
                    pb.RecordInteractionsRequest(interactions=[event])
                )
                assert ack.outcomes[0].status == pb.INTERACTION_STATUS_ACCEPTED
                await service.stub.Recommend(pb.RecommendRequest(user_id=name))
                await service.stub.GetProfile(
                    pb.GetProfileRequest(key=pb.ClientKey(kind=USER, id=name))
                )
                number, answered = number + 1, answered + 1
                await asyncio.sleep(0.005)

        calling = [asyncio.create_task(keep_calling(f"v{n}")) for n in range(3)]
        await plant_two_communities(service)
        await wait_until(lambda: service.engine.numbers.view.epoch == 1)
        during = answered
        await asyncio.sleep(0.1)
        stop.set()
        await asyncio.gather(*calling)
        assert answered > during > 0
        await service.stub.RunRound(pb.RunRoundRequest(drain=True))
        status = await service.stub.GetStatus(pb.GetStatusRequest())
        assert (status.bootstrapped, status.epoch) == (True, 1)
        assert (status.dead_letters, dict(status.failing)) == (0, {})
        rows = await service.engine.store.get_interactions(range(1, status.recorded_through + 1))
        assert len(rows) == answered + 36


async def test_a_stop_amid_unary_calls_loses_no_acked_event(start_service):
    acked: dict[str, int] = {}

    async def push(service, name):
        with contextlib.suppress(grpc.aio.AioRpcError):
            for number in range(10_000):
                event = pb.Interaction(
                    event_id=f"{name}-{number}", user_id=name, item_id=f"i{number % 7}"
                )
                answer = await service.stub.RecordInteractions(
                    pb.RecordInteractionsRequest(interactions=[event])
                )
                acked[event.event_id] = answer.outcomes[0].sequence

    async with start_service(auto_create=True) as service:
        pushing = [asyncio.create_task(push(service, f"u{n}")) for n in range(8)]
        await wait_until(lambda: len(acked) >= 50)
        await service.running.stop(5)
        await asyncio.gather(*pushing)
    async with start_service(auto_create=True) as service:
        states = await service.engine.store.get_event_states(list(acked))
    rows = [state.interaction for state in states]
    assert [row and row.sequence for row in rows] == list(acked.values())
