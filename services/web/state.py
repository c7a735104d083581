"""What all requests of the page share."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request

from services.web.access.message_reach import MessageReach
from services.web.access.previews import Previews
from services.web.access.report_files import ReportFolder
from services.web.access.return_addresses import ReturnAddresses
from services.web.access.sessions import Sessions
from services.web.live import OpenStreams, Parts
from services.web.pictures.router_picture import RouterLayouts


@dataclass(frozen=True)
class PageState:
    """The state of the page's process.

    Attributes:
        sessions: The visitors, with their connections and live feeds.
        live: The parts of each live view, by the view's name.
        streams: The live views that are open now.
        layouts: Places of routers in the picture.
        reach: How many clients each router's messages reached.
        reports: The folder of reports; None: no reports.
        previews: Runs previews, one at a time.
        return_addresses: Where visitors go after the sign-in.
    """

    sessions: Sessions
    live: Mapping[str, Parts]
    streams: OpenStreams
    layouts: RouterLayouts
    reach: MessageReach
    reports: ReportFolder | None
    previews: Previews
    return_addresses: ReturnAddresses


def get_state(request: Request) -> PageState:
    """Return what all requests share."""
    return get_state_of(request.app)


def get_state_of(app: Starlette) -> PageState:
    """Return the state of an application."""
    state: PageState = app.state.page
    return state


def get_form(request: Request) -> Mapping[str, str]:
    """Return the fields of a form that this page sent."""
    form: Mapping[str, str] = request.state.form
    return form
