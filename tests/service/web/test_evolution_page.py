"""Evolution on the page: runs, a plan, a run now, lineage, and an undo that is explained first."""

import html
import re

import pytest

from propagation.optimization.holdout_judge import Verdict
from propagation.v1 import propagation_pb2 as pb
from services.security.roles import Role
from services.web.views.routers import evolution


async def list_runs(service):
    return list((await service.stub.ListEvolutionRuns(pb.ListEvolutionRunsRequest())).runs)


def read(answer):
    """Return what the visitor reads, without markup."""
    assert answer.status_code == 200, answer.text
    return read_words(answer)


def read_words(answer):
    """Return the words of an answer of any status."""
    return html.unescape(re.sub(r"<[^>]+>", "", answer.text))


async def test_a_plan_is_shown_and_changes_nothing(evolving_service, start_page):
    async with start_page(evolving_service.address) as page:
        shown = read(await page.send("/evolution/plan", {}, of="/evolution"))
    assert "Nothing was changed" in shown
    assert "Split router" in shown
    assert "the present routers" in shown, "the judge's figures"
    assert await list_runs(evolving_service) == []


async def test_evolve_then_undo(evolving_service, start_page):
    async with start_page(evolving_service.address) as page:
        answer = await page.send("/evolution/now", {}, of="/evolution")
        assert (answer.status_code, answer.headers["location"]) == (303, "/evolution")
        (run,) = await list_runs(evolving_service)
        shown = read(await page.get("/evolution"))
        assert "Run 1 was published" in shown
        assert run.verdict in shown
        assert run.changes[0].reason in shown

        asked = await page.send("/evolution/undo/preview", {"run": "1"}, of="/evolution")
        assert "Nothing was changed yet" in read(asked)
        assert "undoes run 1" in read(asked)
        assert "Merge router" in read(asked), "the halves of the split"
        assert len(await list_runs(evolving_service)) == 1

        await page.send("/evolution/undo", {"run": "1"}, of="/evolution")
        undo, _ = await list_runs(evolving_service)
        assert undo.undoes == 1
        shown = read(await page.get("/evolution"))
        assert "undone by run 2" in shown

        again = await page.send("/evolution/undo/preview", {"run": "1"}, of="/evolution")
        assert again.status_code == 400
        assert "which is undone" in again.text


@pytest.mark.parametrize("run", ["x", "", "-1"])
async def test_an_undo_names_a_run(service, start_page, run):
    async with start_page(service.address) as page:
        for form in ("undo", "undo/preview"):
            answer = await page.send(f"/evolution/{form}", {"run": run})
            assert answer.status_code == 400
            assert "The number of a run is" in read_words(answer)


async def test_a_refused_run_says_what_and_why(evolving_service, start_page, monkeypatch):
    monkeypatch.setattr(Verdict, "published", False)
    async with start_page(evolving_service.address) as page:
        await page.send("/evolution/now", {}, of="/evolution")
        (run,) = await list_runs(evolving_service)
        shown = await page.get("/evolution")
        router = await page.get(f"/routers/taste/{run.changes[0].before[0]}")
    assert "Run 1 changed nothing" in read(shown)
    assert "refused" in read(shown)
    assert run.verdict in read(shown)
    assert "Undo" not in read(shown)
    assert "planned, not published" in read(router)
    assert 'class="turn split refused"' in router.text


async def test_the_lineage_of_a_split_and_of_a_retired_router(evolving_service, start_page):
    async with start_page(evolving_service.address) as page:
        await page.send("/evolution/now", {}, of="/evolution")
        (run,) = await list_runs(evolving_service)
        split = next(one for one in run.changes if one.kind == pb.EVOLUTION_KIND_SPLIT)
        new = next(number for number in split.after if number not in split.before)
        shown = await page.get(f"/routers/taste/{new}")
        assert 'class="flow split"' in shown.text
        assert f"router {split.before[0]} was split" in read(shown)
        await page.send("/evolution/undo", {"run": "1"}, of="/evolution")
        undo, _ = await list_runs(evolving_service)
        gone = await page.get(f"/routers/taste/{new}")
        assert gone.headers["location"] == f"/routers/taste/{new}?at={undo.sequence - 1}"
        then = await page.get(gone.headers["location"])
        words = f"There is no router {new} any more: evolution run 2 merged it into router"
        assert words in read(then)
        assert 'class="flow merge"' in then.text


async def test_a_run_that_takes_longer_than_the_visitor_waits_goes_on(
    evolving_service, start_page, monkeypatch
):
    monkeypatch.setattr(evolution, "EVOLVE_SECONDS", 0.001)
    async with start_page(evolving_service.address) as page:
        await page.send("/evolution/now", {}, of="/evolution")
        assert "The run goes on in the service" in read(await page.get("/evolution"))


@pytest.mark.parametrize("form", ["plan", "now", "undo", "undo/preview"])
async def test_forms_need_the_role_admin(start_service, start_page, form):
    async with start_service(roles=[Role.ANALYST]) as service, start_page(service.address) as page:
        await page.sign_in(service.token)
        answer = await page.send(f"/evolution/{form}", {"run": "1"})
        assert answer.status_code == 403
        assert "admin" in answer.text


async def test_only_runs_since_the_bootstrap_are_drawn(evolving_service, start_page):
    async with start_page(evolving_service.address) as page:
        await page.send("/evolution/now", {}, of="/evolution")
        assert "Which router became which" in read(await page.get("/evolution"))
        await evolving_service.engine.init()
        shown = read(await page.get("/evolution"))
    assert "Which router became which" not in shown
    assert "before the newest bootstrap" in shown
