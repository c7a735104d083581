"""Failures: what fails now, dead letters, a language model's errors."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from propagation.v1 import propagation_pb2 as pb
from services.report.language_model import count_losses, list_model_warnings
from services.web.rendering import get_visitor, show
from services.web.view_table import ViewTable


@dataclass(frozen=True)
class Failing:
    """Something that fails now and is tried again.

    Attributes:
        job: The job of this name, if it is one that runs by the calendar.
    """

    name: str
    reason: str
    job: pb.ScheduledJob | None


async def show_failures(request: Request) -> Response:
    """Show the page."""
    visitor = get_visitor(request)
    status = await visitor.stub.GetStatus(pb.GetStatusRequest())
    return show(
        request,
        "operator/failures.html",
        status=status,
        failing=list_failing(status),
        warnings=list_model_warnings(status),
        losses=count_losses(status.spending.prompts),
        ever=count_losses(status.spending.ever),
    )


def list_failing(status: pb.GetStatusResponse) -> list[Failing]:
    """List what fails now, by name."""
    jobs = {job.name: job for job in status.jobs if job.failures}
    return [
        Failing(
            name,
            status.failing[name] if name in status.failing else jobs[name].error,
            jobs.get(name),
        )
        for name in sorted({*status.failing, *jobs})
    ]


VIEWS = ViewTable(pages={"/failures": show_failures})
