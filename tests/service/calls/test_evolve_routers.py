"""Evolution over gRPC: by hand, tried, listed, undone, and seen in a router's lineage and in the
status."""

import grpc
import pytest

from propagation.optimization.holdout_judge import Verdict
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.settings import BankSettings
from tests.unit.workflow.evolve.evolving import STYLES, catalogue, push, stream

SETTINGS = {
    "auto_create": True,
    "taste": BankSettings(k=2),
    "update_size": 20,
    "bootstrap_items": 1_000,
    "holdout": 60,
    "evolve_support": 10,
}


async def test_evolve_list_undo_and_lineage(serving, monkeypatch):
    monkeypatch.setattr(Verdict, "published", True)
    async with serving(**SETTINGS) as service:
        engine, stub = service.engine, service.stub
        await engine.upsert_clients(catalogue(STYLES[:3]))
        await engine.drain()
        await engine.init()
        await push(engine, stream(STYLES[:3], 200, loyal=1.0))
        trial = (await stub.EvolveRouters(pb.EvolveRoutersRequest(dry_run=True))).run
        assert (trial.run, trial.published, trial.HasField("time")) == (0, False, False)
        assert not (await stub.GetStatus(pb.GetStatusRequest())).HasField("last_evolution")
        run = (await stub.EvolveRouters(pb.EvolveRoutersRequest())).run
        assert (run.run, run.published) == (1, True)
        assert run.changes
        assert run.HasField("log_loss_after")
        assert (await stub.GetStatus(pb.GetStatusRequest())).last_evolution == run
        change = run.changes[0]
        for number in {*change.before, *change.after}:
            router = await stub.GetRouter(pb.GetRouterRequest(number=number))
            assert (change.before[0], change.after[0], change.kind, 1) in [
                (step.before, step.after, step.kind, step.run) for step in router.lineage
            ] or number != change.before[0]
            assert router.lineage
            then = pb.AsOf(sequence=run.sequence)
            assert (
                await stub.GetRouter(pb.GetRouterRequest(number=number, as_of=then))
            ).lineage == router.lineage
        before = pb.AsOf(sequence=run.sequence - 1)
        assert not (
            await stub.GetRouter(pb.GetRouterRequest(number=change.before[0], as_of=before))
        ).lineage
        back = (await stub.EvolveRouters(pb.EvolveRoutersRequest(undo_run=1))).run
        assert (back.undoes, back.published) == (1, True)
        page = await stub.ListEvolutionRuns(pb.ListEvolutionRunsRequest(page_size=1))
        rest = await stub.ListEvolutionRuns(
            pb.ListEvolutionRunsRequest(page_size=1, page_token=page.next_page_token)
        )
        assert [*page.runs, *rest.runs] == [back, run]
        assert rest.next_page_token == ""
        assert [
            router.number
            for router in (
                await stub.ListRouters(pb.ListRoutersRequest(bank=pb.BANK_TASTE))
            ).routers
        ] == [0, 1]
        newest = pb.AsOf(sequence=back.sequence)
        assert [
            router.number
            for router in (await stub.ListRouters(pb.ListRoutersRequest(as_of=newest))).routers
        ] == [0, 1]
        for wrong in (1, 0, 99):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.EvolveRouters(pb.EvolveRoutersRequest(undo_run=wrong))
            assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert "undo_run" in caught.value.details()
