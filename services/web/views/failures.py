"""Failures: what fails now, dead letters, a language model's errors."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.report.language_model import count_losses, list_model_warnings
from services.web.access.sessions import Visitor
from services.web.rendering import get_visitor, show
from services.web.state import get_form
from services.web.views.addresses import LARGEST_SEQUENCE, read_number, read_page_token
from services.web.views.view_table import ViewTable

PAGE_SIZE = 20
CHOSEN, ONLY = "replay-", "only"


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
    status, letters = await asyncio.gather(
        visitor.stub.GetStatus(pb.GetStatusRequest()),
        _list_letters(visitor, read_page_token(request.query_params)),
    )
    return show(
        request,
        "operator/failures.html",
        status=status,
        failing=list_failing(status),
        letters=letters.dead_letters,
        token=letters.next_page_token,
        chosen=CHOSEN,
        only=ONLY,
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


async def _list_letters(visitor: Visitor, token: str) -> pb.ListDeadLettersResponse:
    """List a page of dead letters, if the visitor may see them."""
    if not visitor.may("admin"):
        return pb.ListDeadLettersResponse()
    return await visitor.stub.ListDeadLetters(
        pb.ListDeadLettersRequest(page_size=PAGE_SIZE, page_token=token, exchanges=True)
    )


async def replay_some(request: Request) -> Response:
    """Queue the dead letters that the form chose."""
    sequences = read_sequences(get_form(request))
    visitor = get_visitor(request)
    if not sequences:
        visitor.notices.append("No dead letter was chosen, so nothing was queued.")
        return RedirectResponse("/failures", 303)
    return await _replay(visitor, pb.ReplayDeadLettersRequest(sequences=sequences))


async def replay_all(request: Request) -> Response:
    """Queue every dead letter."""
    return await _replay(get_visitor(request), pb.ReplayDeadLettersRequest(all=True))


async def _replay(visitor: Visitor, asked: pb.ReplayDeadLettersRequest) -> Response:
    answer = await visitor.stub.ReplayDeadLetters(asked)
    sentence = (
        f"{pluralize(answer.queued, 'dead letter')} wait to be tried again in the background."
        if answer.queued != 1
        else "1 dead letter waits to be tried again in the background."
    )
    if answer.unknown:
        sentence += f" {answer.unknown:,} of those that were chosen are dead letters no longer."
    visitor.notices.append(sentence)
    return RedirectResponse("/failures", 303)


def read_sequences(form: Mapping[str, str]) -> list[int]:
    """Read which dead letters a form chose.

    One has a button of its own, which wins over the boxes.

    Raises:
        BadAddress: A text is no sequence.
    """
    names = [name.removeprefix(CHOSEN) for name in form if name.startswith(CHOSEN)]
    texts = [form[ONLY]] if ONLY in form else names
    return [
        read_number(text, "The sequence of a dead letter", 1, LARGEST_SEQUENCE) for text in texts
    ]


VIEWS = ViewTable(
    pages={"/failures": show_failures},
    forms={"/failures/replay": replay_some, "/failures/replay-all": replay_all},
)
