"""A client's events, and taking one back."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from propagation.v1 import propagation_pb2 as pb
from services.web.rendering import get_visitor, link_client
from services.web.state import get_form
from services.web.views.addresses import read_page_token
from services.web.views.clients.client_pages import find_title, read_key, show_client
from services.web.views.view_table import ViewTable

EVENTS_A_PAGE = 50
RETRACT_SECONDS = 300.0
NOT_RETRACTED = {
    "UNKNOWN": "was never recorded",
    "RETRACTED": "was taken back before",
    "FORGOTTEN": "was erased with its client",
}


async def show_events(request: Request) -> Response:
    """Show the client's events as user or as item, newest first."""
    visitor = get_visitor(request)
    key = read_key(request.query_params)
    answer = await visitor.stub.ListClientEvents(
        pb.ListClientEventsRequest(
            key=key, page_size=EVENTS_A_PAGE, page_token=read_page_token(request.query_params)
        )
    )
    return show_client(
        request,
        "events.html",
        key,
        await find_title(visitor, key) or "",
        events=answer.events,
        next_page=answer.next_page_token,
        first=not read_page_token(request.query_params),
    )


async def retract_event(request: Request) -> Response:
    """Take one event back, and say what came of it."""
    visitor = get_visitor(request)
    key, event = read_key(get_form(request)), get_form(request).get("event", "")
    answer = await visitor.stub.RetractInteractions(
        pb.RetractInteractionsRequest(event_ids=[event]), timeout=RETRACT_SECONDS
    )
    outcome = answer.outcomes[0]
    visitor.notices.append(
        f"Event {event} was taken back, with everything that it wrote."
        if outcome.retracted
        else f"Nothing was done: event {event} {NOT_RETRACTED.get(outcome.reason, 'is not there')}."
    )
    return RedirectResponse(link_client(key, "/client/events"), 303)


VIEWS = ViewTable(
    pages={"/client/events": show_events}, forms={"/client/events/retract": retract_event}
)
