"""GetStatus says what fails."""

from propagation.v1 import propagation_pb2 as pb


async def test_a_reasoner_that_was_told_to_pause_is_among_what_fails(service, monkeypatch):
    assert "reasoner" not in (await service.stub.GetStatus(pb.GetStatusRequest())).failing
    monkeypatch.setattr(service.engine.reasoner, "pause_reason", "429: asked again in 60 s")
    status = await service.stub.GetStatus(pb.GetStatusRequest())
    assert status.failing["reasoner"] == "429: asked again in 60 s"
