"""An event reaches a client that took no part in it."""

from propagation.v1 import propagation_pb2 as pb


async def test_an_event_reaches_another_clients_profile(service):
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
    events = [
        pb.Interaction(event_id=f"{user}-{n}", user_id=user, item_id=f"i{n}")
        for user in ("ann", "bob", "cid")
        for n in range(4)
    ]
    await stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=events))
    await stub.RunRound(pb.RunRoundRequest(drain=True))
    before = await _read_profile(stub, "ann")
    assert not [line for line in before.lines if line.author == pb.AUTHOR_RECEPTION]
    news = [
        pb.Interaction(event_id=f"news-{user}", user_id=user, item_id="i15")
        for user in ("bob", "cid")
    ]
    answer = await stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=news))
    assert [outcome.status for outcome in answer.outcomes] == [pb.INTERACTION_STATUS_ACCEPTED] * 2
    done = await stub.RunRound(pb.RunRoundRequest(drain=True))
    assert done.round.touched_routers > 0
    touch = pb.Interaction(event_id="later", user_id="ann", item_id="i5")
    await stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=[touch]))
    await stub.RunRound(pb.RunRoundRequest(drain=True))
    after = await _read_profile(stub, "ann")
    heard = [line for line in after.lines if line.author == pb.AUTHOR_RECEPTION]
    assert "opera" in {name for line in heard for name in line.attributes}


async def _read_profile(stub, user):
    answer = await stub.GetProfile(
        pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=user))
    )
    return answer.profile
