"""The application: addresses, views, sign-in."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from propagation_client import Credentials
from services.web.access.message_reach import MessageReach
from services.web.access.previews import Previews, run_until_left
from services.web.access.protection import (
    OldForm,
    OtherSitesRefused,
    ProtectionHeaders,
    check_host,
    cookie_options,
    read_form,
)
from services.web.access.report_files import ReportFolder
from services.web.access.return_addresses import ReturnAddresses
from services.web.access.sessions import Sessions, SignInRefused
from services.web.live import SIGNED_OUT, OpenStreams, Parts, stream_frames
from services.web.pictures.router_picture import RouterLayouts
from services.web.problems import BadAddress, ask_to_sign_in, list_handlers
from services.web.rendering import get_visitor, show
from services.web.state import PageState, get_state
from services.web.views import clients, failures, history, now, reports, routers, settings, trace
from services.web.views.view_table import View, ViewTable

VIEWS: tuple[ViewTable, ...] = (
    now.VIEWS,
    *routers.VIEWS,
    *clients.VIEWS,
    trace.VIEWS,
    history.VIEWS,
    failures.VIEWS,
    settings.VIEWS,
    reports.VIEWS,
)
COOKIE = "propagation_session"
IDLE_CHECK_SECONDS = 60.0
STATIC_SECONDS = 24 * 3_600
LOCAL_NAMES = frozenset({"localhost"})
BEFORE_SIGN_IN = {
    "undone": "Nothing was done.",
    "ended": "Your session has ended, or your token was withdrawn: sign in again.",
}
"""What the sign-in page says about the request that led to it."""


@dataclass(frozen=True)
class WebOptions:
    """What the page needs to know.

    Attributes:
        service: HOST:PORT of the service.
        credentials: How TLS verifies the service. A token in them is not used.
        names: Host names of the page, besides localhost and addresses.
        token_needed: Whether a visitor must sign in even if the service needs no token.
        service_has_tokens: Whether the service is known to have tokens; else it is asked.
        reports: The folder whose reports are shown; None: no reports.
    """

    service: str
    credentials: Credentials = field(default_factory=Credentials)
    names: Collection[str] = ()
    token_needed: bool = False
    service_has_tokens: bool = False
    reports: Path | None = None


def build_app(options: WebOptions) -> Starlette:
    """Build the application.

    It connects to the service when the first visitor comes.
    """
    sessions = Sessions(
        options.service, options.credentials, options.token_needed, options.service_has_tokens
    )
    reach = MessageReach()
    names = LOCAL_NAMES | {name.lower() for name in options.names}

    @asynccontextmanager
    async def close_at_the_end(_: Starlette) -> AsyncIterator[None]:
        ending = asyncio.create_task(_end_idle_sessions(sessions))
        yield
        ending.cancel()
        await asyncio.wait([ending])
        await reach.close()
        await sessions.close()

    guard = _Guard(sessions, names)
    live: dict[str, Parts] = {}
    routes: list[Route | Mount] = [
        Route("/health", _show_health),
        Route("/sign-in", guard.check_host(show_sign_in), methods=["GET"]),
        Route("/sign-in", guard.check_host(sign_in), methods=["POST"]),
        Route("/sign-out", guard(sign_out), methods=["POST"]),
        Route("/live", guard(stream_live, end_live)),
    ]
    pages: list[Route] = []
    for views in VIEWS:
        pages += (Route(path, guard(view), methods=["GET"]) for path, view in views.pages.items())
        routes += (Route(path, guard(view), methods=["POST"]) for path, view in views.forms.items())
        live |= views.live
    routes += pages
    routes.append(Mount("/static", _CachedFiles(packages=[("services.web", "static")])))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(ProtectionHeaders), Middleware(OtherSitesRefused)],
        exception_handlers=list_handlers(),
        lifespan=close_at_the_end,
    )
    app.state.page = PageState(
        sessions=sessions,
        live=live,
        streams=OpenStreams(),
        layouts=RouterLayouts(),
        reach=reach,
        reports=ReportFolder(options.reports) if options.reports else None,
        previews=Previews(),
        return_addresses=ReturnAddresses(pages),
    )
    return app


async def _end_idle_sessions(sessions: Sessions) -> None:
    """End idle sessions, also if nobody comes."""
    while True:
        await asyncio.sleep(IDLE_CHECK_SECONDS)
        await sessions.end_idle()


def _ask_to_sign_in(request: Request) -> Response:
    """Lead to the sign-in, which says if a session has ended."""
    return ask_to_sign_in(request, ended=name_cookie(request) in request.cookies)


def end_live(_: Request) -> Response:
    """Tell a live view that its session has ended.

    A redirect would not: a browser follows it, and tries again for ever.
    """
    return Response(SIGNED_OUT, media_type="text/event-stream")


class _Guard:
    """Lets only visitors and this page's own forms reach a view."""

    def __init__(self, sessions: Sessions, names: Collection[str]) -> None:
        self._sessions = sessions
        self._names = names

    def __call__(self, view: View, refuse: Callable[[Request], Response] = _ask_to_sign_in) -> View:
        """Guard a view.

        Args:
            refuse: Answers those who must sign in first.
        """

        async def answer(request: Request) -> Response:
            check_host(request.headers, self._names)
            visitor = await self._sessions.find(
                request.cookies.get(name_cookie(request), ""), keep=request.method == "POST"
            )
            new = visitor is None
            if visitor is None:
                visitor = await self._sessions.visit_without_token()
            if visitor is None:
                return refuse(request)
            request.state.visitor = visitor
            response = await self._answer_visitor(request, view)
            if new:
                _set_cookie(request, response, visitor.session)
            return response

        return answer

    async def _answer_visitor(self, request: Request, view: View) -> Response:
        if request.method == "POST":
            try:
                request.state.form = await read_form(request, get_visitor(request).forgery_key)
            except OldForm as old:
                return show(request, "form_again.html", 409, fields=old.fields)
        return await view(request)

    def check_host(self, view: View) -> View:
        """Check only the host's name; anybody may come in."""

        async def answer(request: Request) -> Response:
            check_host(request.headers, self._names)
            return await view(request)

        return answer


async def show_sign_in(request: Request) -> Response:
    """Show the form that asks for a token."""
    return show(
        request,
        "sign_in.html",
        next=get_state(request).return_addresses.check(request.query_params.get("next", "")),
        problem=" ".join(
            sentence for name, sentence in BEFORE_SIGN_IN.items() if name in request.query_params
        ),
    )


async def sign_in(request: Request) -> Response:
    """Open a session for the token of the form.

    It replaces the session that the browser had.
    """
    form = await read_form(request, "")
    next_ = get_state(request).return_addresses.check(form.get("next", ""))
    token = form.get("token", "").strip()
    sessions = get_state(request).sessions
    try:
        if not token:
            raise SignInRefused("Paste a token: `propagation token new` makes one.")
        # Who leaves does not wait for a place any longer.
        visitor = await run_until_left(request, lambda: sessions.sign_in(token, get_host(request)))
    except SignInRefused as error:
        return show(request, "sign_in.html", 403, next=next_, problem=str(error))
    await sessions.sign_out(request.cookies.get(name_cookie(request), ""))
    response = RedirectResponse(next_, 303)
    _set_cookie(request, response, visitor.session)
    return response


async def sign_out(request: Request) -> Response:
    """End the visitor's session."""
    await get_state(request).sessions.sign_out(get_visitor(request).session)
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(name_cookie(request), path="/")
    return response


async def stream_live(request: Request) -> Response:
    """Stream the live parts of a view as server-sent events."""
    state = get_state(request)
    parts = state.live.get(request.query_params.get("view", ""))
    if parts is None:
        raise BadAddress("There is no live view of this name.")
    visitor = get_visitor(request)

    async def frames() -> AsyncIterator[str]:
        async with visitor.connection.feed.follow() as feed:
            async for frame in stream_frames(
                feed, lambda: state.sessions.look_up(visitor.session), parts
            ):
                yield frame

    return state.streams.answer(visitor.connection.audience, get_host(request), frames())


def get_host(request: Request) -> str:
    """Return the browser's address; empty if it is not known."""
    return request.client.host if request.client else ""


def name_cookie(request: Request) -> str:
    """Return the name of the session's cookie.

    Browsers send a host's cookies to all its ports, so the name contains the port.
    """
    return f"{COOKIE}_{request.url.port or request.url.scheme}"


def _set_cookie(request: Request, response: Response, session: str) -> None:
    response.set_cookie(name_cookie(request), session, **cookie_options(request.url.scheme))


async def _show_health(_: Request) -> Response:
    """Answer that the page's process runs."""
    return PlainTextResponse("the page is served\n")


class _CachedFiles(StaticFiles):
    """Files whose addresses change with their content, so browsers keep them."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["cache-control"] = f"max-age={STATIC_SECONDS}"
        return response
