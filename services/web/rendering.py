"""Templates: how pages are rendered, and how values are written.

Every text is shown as text: the templates escape markup, and control characters and direction marks
are written as escapes.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree.ElementTree import Element, tostring

from google.protobuf.timestamp_pb2 import Timestamp
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.report.operations import describe_operation
from services.runtime.console import make_printable_lines
from services.web.access.protection import FORGERY_FIELD
from services.web.access.sessions import Visitor

KINDS = {pb.CLIENT_KIND_USER: "user", pb.CLIENT_KIND_ITEM: "item"}
KINDS_BY_NAME = {name: kind for kind, name in KINDS.items()}
BANKS = {pb.BANK_TASTE: "taste", pb.BANK_SESSION: "session"}
BANKS_BY_NAME = {name: bank for bank, name in BANKS.items()}
AUTHORS = {
    pb.AUTHOR_CATALOGUE: "catalogue",
    pb.AUTHOR_INTERACTION: "interaction",
    pb.AUTHOR_RECEPTION: "reception",
}


def get_visitor(request: Request) -> Visitor:
    """Return the visitor of a request that needs one."""
    visitor: Visitor = request.state.visitor
    return visitor


def show(request: Request, template: str, code: int = 200, **context: object) -> HTMLResponse:
    """Render a page.

    Args:
        template: The name of a file in templates/.
        code: The HTTP status.
        context: The template's names. It also gets `visitor` (None if nobody is signed in), `path`
            and the visitor's `notices`.
    """
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    notices = list(visitor.notices) if visitor else []
    text = render_part(template, visitor=visitor, path=request.url.path, notices=notices, **context)
    if visitor:
        visitor.notices.clear()
    return HTMLResponse(text, code)


def render_part(template: str, **context: object) -> str:
    """Render a part of a page."""
    return _templates().get_template(template).render(**context)


def draw(picture: Element) -> Markup:
    """Return a drawing as markup; its serialiser has escaped all text."""
    return Markup(tostring(picture, encoding="unicode", method="html"))


def write_form_value(value: object) -> Markup:
    """Write a value that must come back from a form unchanged.

    Only markup is escaped. Visible text also has its invisible characters written as escapes.
    """
    return escape(str(value))


def keep_markup(part: str) -> Markup:
    """Return a part that a template of this page rendered, as markup."""
    return Markup(part)


def link_client(key: pb.ClientKey, page: str = "/client", /, **fields: object) -> str:
    """Return the address of a page of a client, such as /client/events."""
    return f"{page}?{urlencode({'kind': KINDS.get(key.kind, ''), 'id': key.id, **fields})}"


def link_router(number: int, bank: int = pb.BANK_TASTE, **fields: object) -> str:
    """Return the address of a router's page."""
    name = BANKS.get(bank, "taste")  # type: ignore[call-overload]
    return f"/routers/{name}/{number}" + (f"?{urlencode(fields)}" if fields else "")


def link_message(router: int, version: int) -> str:
    """Return the address of a router's messages, up to one of them.

    It names the router that sent the message, also after its number was given to another.
    """
    return f"/routers/taste/{router}/messages?version={version}"


def link_trace(origin: str, value: object, **fields: object) -> str:
    """Return the address of a trace.

    Args:
        origin: event, user, item, attribute or line.
        value: The event's or client's id, the attribute, or the line's number.
    """
    return f"/trace?{urlencode({origin: value, **fields})}"


def link_line(key: pb.ClientKey, line: int, version: int) -> str:
    """Return the address of the trace of a line.

    Args:
        line: The line's id.
        version: The version of the profile that has the line, so that the address keeps its meaning
            when the line is replaced; 0 if the visitor may not know it.
    """
    fields = {"kind": KINDS.get(key.kind, ""), "id": key.id}
    return link_trace("line", line, **fields, **({"version": version} if version else {}))


def write_time(time: Timestamp | datetime) -> Markup:
    """Write a time in UTC.

    The page's script shows it in the visitor's time zone.
    """
    moment = time if isinstance(time, datetime) else time.ToDatetime(UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(
        moment.isoformat(timespec="milliseconds"), f"{moment:%Y-%m-%d %H:%M:%S}"
    )


def write_seconds(seconds: float) -> str:
    """Write a duration as a person says it."""
    if seconds < 1:
        return f"{1_000 * seconds:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def write_number(value: float, digits: int = 0) -> str:
    """Write a number with thousands separators."""
    return f"{value:,.{digits}f}"


def list_filters() -> dict[str, Callable[..., object]]:
    """Return the filters of the templates by name, beside Jinja's own."""
    return {
        "time": write_time,
        "seconds": write_seconds,
        "number": write_number,
        "draw": draw,
        "form_value": write_form_value,
        "part": keep_markup,
        "operation": describe_operation,
        "query": lambda value: quote(str(value), safe=""),
        "plural": pluralize,
    }


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("services.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_make_printable,
    )
    environment.filters.update(list_filters())
    environment.globals.update(
        link_client=link_client,
        link_router=link_router,
        link_message=link_message,
        link_trace=link_trace,
        link_line=link_line,
        static=get_static_address,
        forgery_field=FORGERY_FIELD,
        KINDS=KINDS,
        BANKS=BANKS,
        AUTHORS=AUTHORS,
        pb=pb,
    )
    return environment


def _make_printable(value: Any) -> Any:
    """Escape control characters and direction marks; keep markup of our own."""
    if value is None:
        return ""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return make_printable_lines(value)


@cache
def get_static_address(name: str) -> str:
    """Return the address of a file in static/.

    It changes with the file's content.
    """
    content = files("services.web").joinpath("static", name).read_bytes()
    return f"/static/{name}?{sha256(content).hexdigest()[:12]}"


def write_json(value: object) -> str:
    """Write JSON on one line, for the page's script."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
