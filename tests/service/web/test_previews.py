"""Previews on the page: one at a time, and none goes on for a visitor who left."""

import asyncio
import contextlib

import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.concurrency import Activity
from propagation.workflow.evolve import evolution
from services.web.access.protection import FORGERY_FIELD
from tests.service.scenarios import propagate_opera
from tests.service.web.conftest import Page, open_visitor
from tests.waiting import wait_until

FORM = {"kind": "user", "id": "ann"}
BUSY = "A preview is running already"


class Searches:
    """The searches of previews: each waits until it may go on."""

    def __init__(self, engine, monkeypatch) -> None:
        self._find = engine.forgetting.withdrawer.find_changes
        self.begun = self.cancelled = 0
        self.go_on = asyncio.Event()
        monkeypatch.setattr(engine.forgetting.withdrawer, "find_changes", self.find)

    async def find(self, rows, erased):
        self.begun += 1
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await self._find(rows, erased)


@pytest.fixture
async def searches(service, monkeypatch):
    await propagate_opera(service)
    return Searches(service.engine, monkeypatch)


async def test_one_preview_runs_at_a_time(service, start_page, searches):
    async with start_page(service.address) as page:
        first = asyncio.create_task(page.send("/client/forget/preview", FORM))
        await wait_until(lambda: searches.begun == 1)
        async with open_visitor(page.address) as http:
            other = Page(page.address, http, page.server)
            refused = [
                await other.send("/client/forget/preview", FORM),
                await other.send("/evolution/plan", {}),
                await other.send("/evolution/undo/preview", {"run": "1"}),
            ]
        assert [answer.status_code for answer in refused] == [409, 409, 409]
        assert all(BUSY in answer.text for answer in refused)
        searches.go_on.set()
        assert "<strong>4 events</strong>" in (await first).text
        assert (await page.send("/client/forget/preview", FORM)).status_code == 200
    assert searches.begun == 2


async def test_a_preview_ends_when_its_visitor_leaves(service, start_page, searches):
    async with start_page(service.address) as page:
        key = await page.find_key()
        leaving = asyncio.create_task(
            page.http.post("/client/forget/preview", data={FORGERY_FIELD: key, **FORM})
        )
        await wait_until(lambda: searches.begun == 1)
        leaving.cancel()  # the browser closes the connection
        with contextlib.suppress(asyncio.CancelledError):
            await leaving
        await wait_until(lambda: searches.cancelled == 1)
        searches.go_on.set()
        assert (await page.send("/client/forget/preview", FORM)).status_code == 200


async def test_a_call_that_ends_early_ends_the_search(service, searches):
    call = service.stub.ForgetClient(
        pb.ForgetClientRequest(key=pb.ClientKey(kind=1, id="ann"), dry_run=True)
    )
    calling = asyncio.ensure_future(call)
    await wait_until(lambda: searches.begun == 1)
    calling.cancel()
    await wait_until(lambda: searches.cancelled == 1)


@pytest.mark.parametrize("undo", [False, True])
async def test_an_evolution_that_is_only_planned_ends_with_its_call(
    evolving_service, monkeypatch, undo
):
    engine = evolving_service.engine
    if undo:
        await evolving_service.stub.EvolveRouters(pb.EvolveRoutersRequest())
    began, cancelled = asyncio.Event(), asyncio.Event()

    async def wait_for_ever(*_):
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with monkeypatch.context() as patched:
        patched.setattr(engine.evolution.planner, "plan", wait_for_ever)
        patched.setattr(evolution, "plan_undo", wait_for_ever)
        request = pb.EvolveRoutersRequest(dry_run=True, undo_run=1 if undo else None)
        calling = asyncio.ensure_future(evolving_service.stub.EvolveRouters(request))
        await began.wait()
        calling.cancel()
        async with asyncio.timeout(10):
            await cancelled.wait()
    answer = await evolving_service.stub.EvolveRouters(pb.EvolveRoutersRequest(dry_run=True))
    assert answer.run.verdict, "the next one does not wait for it"


async def test_an_evolution_goes_on_without_its_caller(evolving_service):
    calling = asyncio.ensure_future(evolving_service.stub.EvolveRouters(pb.EvolveRoutersRequest()))
    await wait_until(lambda: evolving_service.engine.exclusion.is_under_way(Activity.EVOLVE))
    calling.cancel()

    async def is_stored():
        runs = await evolving_service.stub.ListEvolutionRuns(pb.ListEvolutionRunsRequest())
        return len(runs.runs) == 1

    await wait_until(is_stored, 30)
