"""The report of a running service, over real gRPC."""

from propagation.v1 import propagation_pb2 as pb
from services.report.collect import collect_report
from services.report.page import render_page
from tests.service.running.test_switched_off import let_bob_and_cid_find_opera, read_profile, record


async def test_a_page_shows_what_the_service_did(service):
    await let_bob_and_cid_find_opera(service.stub)
    await record(service.stub, ("ann", 5))
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    await read_profile(service.stub)
    found = await collect_report(service.stub)
    assert sum(one.merged for one in found.reach.values()) > 0
    assert max(one.clients for one in found.reach.values()) >= 1
    parts = {part.name: part for part in found.status.parts}
    assert {"RunRound", "RecordInteractions", "GetProfile"} <= parts.keys()
    assert parts["RunRound"].calls == 3
    assert parts["round"].calls == len(found.status.rounds)
    assert all(0 < part.longest_seconds <= part.seconds for part in parts.values())
    text = render_page(found)
    assert "Routers: near" in text
    assert "N@10 of what users chose" in text
