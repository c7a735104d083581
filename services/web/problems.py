"""Problems as pages.

A failed call or a bad request becomes one sentence, which says what to do.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import grpc
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route

from propagation_client import CallFailed, Unreachable
from services.web.access.previews import PreviewRuns
from services.web.access.protection import ForeignHost, Forged, FormTooLarge, add_headers
from services.web.access.report_files import NoSuchReport
from services.web.access.sessions import SignInRefused
from services.web.live import TooManyStreams
from services.web.meant_clients import MeantClient, find_meant_clients
from services.web.rendering import show
from services.web.state import get_state

STATUSES: Mapping[grpc.StatusCode, int] = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.FAILED_PRECONDITION: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 503,
}
# 429 would tell a program to ask again later, which helps with neither of these.
STATUSES_OF_REASONS: Mapping[str, int] = {"TOO_LARGE": 502, "STORE_FULL": 507}
FORGED_LINK = (
    "This link to a page of a list is wrong or out of date; begin at the list’s first page."
)
SENTENCES_OF_FIELDS: Mapping[str, str] = {
    "key.id": "The id {problem}.",
    "user_id": "The id of the user {problem}.",
    "member.id": "The id of the item or user {problem}.",
    "client.id": "“Id, title or name” {problem}.",
    "event_id": "“Id, title or name” {problem}.",
    "attribute": "“Id, title or name” {problem}.",
    "line.client.id": "The id of the line’s client {problem}.",
    "text": "“Id or words” {problem}.",
    "attributes": "“Only with an attribute” {problem}.",
    "categories": "“Only in a category” {problem}.",
    "as_of.commit_time": "The point in the past {problem}.",
    "since": "“From” {problem}.",
    "until": "“Before” is not after “From”; give a later time, or leave one out.",
    "undo_run": "The run to undo {problem}.",
    "sequences": "The sequence of a dead letter {problem}.",
    "page_token": FORGED_LINK,
}
"""What a page says about a field of a call, in the words of its forms.

A field of a list is named without its index. Quoted are the labels of forms.
"""
LIST_INDEX = re.compile(r"\[\d+\]")
Handler = Callable[[Request, Exception], Awaitable[Response]]


class BadAddress(Exception):
    """A page's address is wrong. The text says why."""


@dataclass(frozen=True)
class Problem:
    """What a page says about a problem.

    Attributes:
        title: A few words.
        sentence: What is wrong, and what to do.
        again: Whether the page tries again by itself.
        back: The address of the page to go back to; empty: none is named.
    """

    status: int
    title: str
    sentence: str
    again: bool = False
    back: str = ""


def describe_failure(error: CallFailed, form_of: str = "") -> Problem:
    """Describe a failed call of the service.

    Args:
        form_of: The address of the page whose form was sent; empty: no form was sent.
    """
    code = error.code()
    status = STATUSES_OF_REASONS.get(error.reason) or STATUSES.get(code, 502)
    if isinstance(error, Unreachable) or error.reason in ("STARTING", "STOPPING"):
        return _describe_silence(error, form_of)
    if code == grpc.StatusCode.PERMISSION_DENIED:
        return Problem(
            status,
            f"Your token may not {'do' if form_of else 'see'} this",
            f"This needs the role {role}. Sign in with a token that has it."
            if (role := error.facts.get("role"))
            else str(error),
        )
    titles = {400: "This address cannot be shown", 404: "There is no such thing"}
    return Problem(status, titles.get(status, "The service refused"), _describe_refusal(error))


def _describe_silence(error: CallFailed, form_of: str) -> Problem:
    """Describe a service that does not answer.

    A view is asked for again by the browser. A form never is: it would be done without a press, or
    twice.
    """
    title = (
        "The service is starting" if error.reason == "STARTING" else "The service does not answer"
    )
    said = f"{str(error).rstrip('.')}."
    if not form_of:
        return Problem(503, title, f"{said} This page tries again by itself.", again=True)
    done = (
        "It is not known whether this was done: look before you press again."
        if isinstance(error, Unreachable)
        else "Nothing was done: press again in a moment."
    )
    return Problem(503, title, f"{said} {done}", back=form_of)


def _describe_refusal(error: CallFailed) -> str:
    if not error.field:
        return str(error)
    words = SENTENCES_OF_FIELDS.get(LIST_INDEX.sub("", error.field), "{field}: {problem}")
    return words.format(field=error.field, problem=error.problem.rstrip("."))


async def show_problem(
    request: Request, problem: Problem, meant: Sequence[MeantClient] = ()
) -> Response:
    """Show a problem as a page.

    Args:
        meant: Clients that the address may mean.
    """
    return show(request, "problem.html", problem.status, problem=problem, meant=meant)


async def _handle_call(request: Request, error: Exception) -> Response:
    assert isinstance(error, CallFailed)
    if error.code() == grpc.StatusCode.UNAUTHENTICATED:
        visitor = getattr(request.state, "visitor", None)
        if visitor is not None:
            await get_state(request).sessions.end_refused(visitor)
        return ask_to_sign_in(request, ended=True)
    unknown = error.code() == grpc.StatusCode.NOT_FOUND
    meant = await find_meant_clients(request) if unknown else ()
    form_of = get_state(request).return_addresses.find(request) if request.method == "POST" else ""
    return await show_problem(request, describe_failure(error, form_of), meant)


def ask_to_sign_in(request: Request, *, ended: bool) -> Response:
    """Lead to the sign-in, and from there back to a page.

    Args:
        ended: Whether there was a session.
    """
    fields = {"next": get_state(request).return_addresses.find(request)}
    if ended:
        fields["ended"] = "1"
    if request.method == "POST":
        fields["undone"] = "1"
    return RedirectResponse(f"/sign-in?{urlencode(fields)}", 303)


async def _handle_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return await show_problem(
            request, Problem(404, "There is no such page", "Go on from the navigation above.")
        )
    said = f"{str(error.detail).rstrip('.')}."
    if error.status_code == 405:
        said = "This address only takes a form. Go on from the navigation above."
    answer = await show_problem(request, Problem(error.status_code, "This cannot be done so", said))
    if error.status_code == 405:
        answer.headers["allow"] = ", ".join(sorted(_list_methods(request)))
    return answer


def _list_methods(request: Request) -> set[str]:
    """Return the methods of an address."""
    found: set[str] = set()
    for route in request.app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] != Match.NONE:
            found |= route.methods or set()
    return found or {"GET", "HEAD"}  # a file


async def _handle_fault(request: Request, _: Exception) -> Response:
    answer = await show_problem(
        request,
        Problem(
            500,
            "A fault of this page",
            "The log of the page's process says more. Nothing in the service was changed by it.",
        ),
    )
    add_headers(answer.headers)
    return answer


async def _answer_nobody(_: Request, __: Exception) -> Response:
    """Return an answer for a browser that has left."""
    return Response(status_code=400)


def _answer(status: int, title: str) -> Handler:
    async def handle(request: Request, error: Exception) -> Response:
        return await show_problem(request, Problem(status, title, str(error)))

    return handle


def list_handlers() -> dict[type[Exception] | int, Handler]:
    """Return the handler of each error, for the application."""
    return {
        CallFailed: _handle_call,
        HTTPException: _handle_http,
        BadAddress: _answer(400, "This address cannot be shown"),
        ForeignHost: _answer(421, "Not under this name"),
        Forged: _answer(403, "Not done"),
        FormTooLarge: _answer(413, "Not done"),
        PreviewRuns: _answer(409, "Not done"),
        ClientDisconnect: _answer_nobody,
        NoSuchReport: _answer(404, "There is no such report"),
        TooManyStreams: _answer(429, "Too many live views"),
        SignInRefused: _answer(403, "Not signed in"),
        Exception: _handle_fault,
    }
