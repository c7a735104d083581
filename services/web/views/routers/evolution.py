"""Evolution: runs and their judgement, a plan, a run now, an undo."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import grpc
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.web.access.feed import Snapshot
from services.web.access.sessions import Visitor
from services.web.pictures.lineage import draw_lineage, trace_lineage
from services.web.rendering import get_visitor, render_part, show
from services.web.state import get_form, get_state
from services.web.views.addresses import LARGEST_NUMBER, read_number, read_page_token
from services.web.views.routers.router_listing import load_router_names
from services.web.views.view_table import ViewTable

RUNS_A_PAGE = 20
NEWEST_RUNS = 200
EVOLVE_SECONDS = 600.0
"""How long a browser waits for a run, which may ask a language model many times."""


def read_run(fields: Mapping[str, str]) -> int:
    """Read the number of a run from an address or a form.

    Raises:
        BadAddress: It names none.
    """
    return read_number(fields.get("run", ""), "The number of a run", 0, LARGEST_NUMBER)


async def find_bootstrap(visitor: Visitor) -> pb.Operation | None:
    """Return the newest bootstrap, which numbers routers anew; None before the first."""
    answer = await visitor.stub.ListOperations(
        pb.ListOperationsRequest(kinds=[pb.OPERATION_KIND_BOOTSTRAP], page_size=1)
    )
    return next(iter(answer.operations), None)


async def list_runs_since_bootstrap(visitor: Visitor) -> list[pb.EvolutionRun]:
    """List the newest runs since the newest bootstrap.

    Returns:
        At most NEWEST_RUNS, newest first.
    """
    runs, bootstrap = await asyncio.gather(
        visitor.stub.ListEvolutionRuns(pb.ListEvolutionRunsRequest(page_size=NEWEST_RUNS)),
        find_bootstrap(visitor),
    )
    since = bootstrap.time.ToNanoseconds() if bootstrap else 0
    return [run for run in runs.runs if run.time.ToNanoseconds() >= since]


async def show_evolution(request: Request) -> Response:
    """Show the runs by page, and the lineage of all routers."""
    visitor = get_visitor(request)
    page, newest, names, status = await asyncio.gather(
        visitor.stub.ListEvolutionRuns(
            pb.ListEvolutionRunsRequest(
                page_size=RUNS_A_PAGE, page_token=read_page_token(request.query_params)
            )
        ),
        list_runs_since_bootstrap(visitor),
        load_router_names(visitor),
        visitor.stub.GetStatus(pb.GetStatusRequest()),
    )
    snapshot = replace(visitor.get_snapshot(), status=status)
    return show(
        request,
        "evolution/evolution.html",
        runs=[
            (run, standing, {number: names.get(number, "") for number in standing.current_routers})
            for run, standing in zip(page.runs, page.standings, strict=True)
        ],
        next_page=page.next_page_token,
        first_page=not read_page_token(request.query_params),
        current={run.run for run in newest},
        picture=draw_lineage(trace_lineage(newest), names),
        parts=render_parts(visitor, snapshot),
        status=status,
    )


async def plan_evolution(request: Request) -> Response:
    """Plan and judge a run; nothing is changed."""
    return await _preview(request, pb.EvolveRoutersRequest(dry_run=True))


async def preview_undo(request: Request) -> Response:
    """Show what an undo would take back; nothing is done."""
    number = read_run(get_form(request))
    return await _preview(request, pb.EvolveRoutersRequest(dry_run=True, undo_run=number))


async def _preview(request: Request, asked: pb.EvolveRoutersRequest) -> Response:
    visitor = get_visitor(request)
    answer = await get_state(request).previews.run(
        request, lambda: visitor.stub.EvolveRouters(asked, timeout=EVOLVE_SECONDS)
    )
    return show(
        request,
        "evolution/plan.html",
        run=answer.run,
        names=await load_router_names(visitor),
        undo=asked.undo_run,
    )


async def evolve(request: Request) -> Response:
    """Evolve the routers now."""
    return await _evolve(request, pb.EvolveRoutersRequest())


async def undo(request: Request) -> Response:
    """Undo a run."""
    number = read_run(get_form(request))
    return await _evolve(request, pb.EvolveRoutersRequest(undo_run=number))


async def _evolve(request: Request, asked: pb.EvolveRoutersRequest) -> Response:
    visitor = get_visitor(request)
    try:
        answer = await visitor.stub.EvolveRouters(asked, timeout=EVOLVE_SECONDS)
    except CallFailed as error:
        if error.code() != grpc.StatusCode.DEADLINE_EXCEEDED:
            raise
        visitor.notices.append("The run goes on in the service. It appears here when it ends.")
    else:
        visitor.notices.append(summarize(answer.run))
    return RedirectResponse("/evolution", 303)


def summarize(run: pb.EvolutionRun) -> str:
    """Say in one sentence what a run did."""
    if run.published:
        done = pluralize(len(run.changes), "change")
        return f"Run {run.run} was published with {done}: {run.verdict}."
    return f"Run {run.run} changed nothing: {run.verdict}."


def render_parts(_: Visitor, snapshot: Snapshot) -> dict[str, str]:
    """Render what is known of the last and the next run."""
    if snapshot.status is None:
        return {}
    jobs = [job for job in snapshot.status.jobs if job.name == "evolution"]
    return {"next": render_part("evolution/next.html", status=snapshot.status, jobs=jobs)}


VIEWS = ViewTable(
    pages={"/evolution": show_evolution},
    forms={
        "/evolution/plan": plan_evolution,
        "/evolution/now": evolve,
        "/evolution/undo": undo,
        "/evolution/undo/preview": preview_undo,
    },
    live={"evolution": render_parts},
)
