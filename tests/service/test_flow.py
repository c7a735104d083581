"""One real event, over real gRPC, reaches a client that took no part in it."""

import grpc

from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import laptop_engine
from services.grpc.service import new_server
from services.settings import Settings
from services.worker import Worker


async def test_an_event_reaches_another_clients_profile(tmp_path):
    settings = Settings(database=tmp_path / "graph.db", workflow=WorkflowSettings(
        session=BankSettings(k=4), taste=BankSettings(k=4), table_edges=2, auto_create=True, update_size=1_000_000))
    engine = laptop_engine(settings)
    await engine.open()
    worker = Worker(engine)
    worker.start()
    server = new_server(engine, worker, 4 << 20)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = pb_grpc.PropagationServiceStub(channel)
            await stub.UpsertClients(pb.UpsertClientsRequest(clients=[
                pb.Client(key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=f"i{n}"), title=f"Record {n}",
                          attributes=["jazz" if n < 10 else "opera"]) for n in range(20)]))
            events = [pb.Interaction(event_id=f"{user}-{n}", user_id=user, item_id=f"i{n}")
                      for user in ("ann", "bob", "cid") for n in range(4)]
            await stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=events))
            await stub.RunRound(pb.RunRoundRequest(drain=True))
            before = await _profile(stub, "ann")
            assert not [line for line in before.lines if line.author == pb.AUTHOR_RECEPTION]
            news = [pb.Interaction(event_id=f"news-{user}", user_id=user, item_id="i15") for user in ("bob", "cid")]
            answer = await stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=news))
            assert [outcome.status for outcome in answer.outcomes] == [pb.INTERACTION_STATUS_ACCEPTED] * 2
            done = await stub.RunRound(pb.RunRoundRequest(drain=True))
            assert done.round.touched_routers > 0
            touch = pb.Interaction(event_id="later", user_id="ann", item_id="i5")
            await stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=[touch]))
            await stub.RunRound(pb.RunRoundRequest(drain=True))
            after = await _profile(stub, "ann")
            heard = [line for line in after.lines if line.author == pb.AUTHOR_RECEPTION]
            assert "opera" in {name for line in heard for name in line.attributes}
    finally:
        await server.stop(1)
        await worker.stop()
        await engine.close()


async def _profile(stub, user):
    answer = await stub.GetProfile(pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=user)))
    return answer.profile
