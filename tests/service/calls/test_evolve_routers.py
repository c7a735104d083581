"""EvolveRouters and ListEvolutionRuns, and what they change in a router and in the status."""

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb


async def evolve(service, **fields):
    return (await service.stub.EvolveRouters(pb.EvolveRoutersRequest(**fields))).run


async def read_lineage(service, number, sequence=None):
    as_of = pb.AsOf(sequence=sequence) if sequence else None
    request = pb.GetRouterRequest(number=number, as_of=as_of)
    return (await service.stub.GetRouter(request)).lineage


async def read_last_evolution(service):
    status = await service.stub.GetStatus(pb.GetStatusRequest())
    return status.last_evolution if status.HasField("last_evolution") else None


async def test_a_dry_run_is_not_stored(evolving_service):
    trial = await evolve(evolving_service, dry_run=True)
    assert trial.changes
    assert (trial.run, trial.published, trial.HasField("time")) == (0, False, False)
    assert await read_last_evolution(evolving_service) is None


async def test_a_published_run_is_judged_and_shown_in_the_status(evolving_service):
    run = await evolve(evolving_service)
    assert (run.run, run.published) == (1, True)
    assert run.changes
    assert run.HasField("log_loss_after")
    assert await read_last_evolution(evolving_service) == run


async def test_a_run_shows_in_its_routers_lineage(evolving_service):
    run = await evolve(evolving_service)
    change = run.changes[0]
    for number in {*change.before, *change.after}:
        steps = await read_lineage(evolving_service, number)
        assert steps, number
        assert await read_lineage(evolving_service, number, run.sequence) == steps, "as of the run"
    steps = await read_lineage(evolving_service, change.before[0])
    assert (change.before[0], change.after[0], change.kind, 1) in [
        (step.before, step.after, step.kind, step.run) for step in steps
    ]
    assert not await read_lineage(evolving_service, change.before[0], run.sequence - 1), (
        "before the run"
    )


async def test_an_undo_leads_back_to_the_routers_of_before(evolving_service):
    await evolve(evolving_service)
    undo = await evolve(evolving_service, undo_run=1)
    assert (undo.undoes, undo.published) == (1, True)
    for as_of in (None, pb.AsOf(sequence=undo.sequence)):
        request = pb.ListRoutersRequest(bank=pb.BANK_TASTE, as_of=as_of)
        answer = await evolving_service.stub.ListRouters(request)
        assert [router.number for router in answer.routers] == [0, 1], as_of


async def test_runs_are_listed_page_by_page_newest_first(evolving_service):
    run, undo = await evolve(evolving_service), await evolve(evolving_service, undo_run=1)
    listed = evolving_service.stub.ListEvolutionRuns
    page = await listed(pb.ListEvolutionRunsRequest(page_size=1))
    rest = await listed(pb.ListEvolutionRunsRequest(page_size=1, page_token=page.next_page_token))
    assert [*page.runs, *rest.runs] == [undo, run]
    assert rest.next_page_token == ""


async def test_a_run_that_cannot_be_undone_is_refused(evolving_service):
    await evolve(evolving_service)
    await evolve(evolving_service, undo_run=1)
    for wrong in (1, 0, 99):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await evolve(evolving_service, undo_run=wrong)
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT, wrong
        assert "undo_run" in caught.value.details(), wrong
