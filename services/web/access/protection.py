"""Protection: content policy, other sites, forged forms, foreign host names, large forms."""

import hmac
import ipaddress
from collections.abc import Collection
from enum import Enum, auto
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_FORM_BYTES = 64 << 10
FORGERY_FIELD = "forgery_key"
NOT_OF_SESSION = "The form was not sent by this page, or its session has ended. Try again."
# Scripts, styles and pictures come from this page's own files only; text can never become a script.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Forged(Exception):
    """A form does not come from this page. The text says so."""


class OldForm(Forged):
    """A form of this page has the key of an earlier session.

    Attributes:
        fields: The fields without the key.
    """

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__(NOT_OF_SESSION)
        self.fields = fields


class FormTooLarge(Exception):
    """A form has more bytes than any form of this page."""


class ForeignHost(Exception):
    """The request names a host that is not this page's."""


class ProtectionHeaders:
    """Middleware: adds the content policy and the other headers to every answer.

    Starlette answers a fault outside of all middleware, so that answer adds them itself.
    A view that sets one of them itself keeps its own, such as the policy of a report.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                add_headers(MutableHeaders(scope=message))
            await send(message)

        await self._app(scope, receive, send_with_headers)


class OtherSitesRefused:
    """Middleware: refuses what another site loads, such as a picture.

    Only a link or an address that opens a page is let through. Older browsers do not say who asks
    (Sec-Fetch-Site), and neither do programs: they are let through, too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and comes_from_another_site(Headers(scope=scope)):
            refusal = PlainTextResponse(
                "Another site asked for this, so it is not shown. Open the page itself.\n", 403
            )
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


def comes_from_another_site(headers: Headers) -> bool:
    """Tell whether another site asked for a part, not a whole page.

    Another port of the same host is another site, too.

    Source: Fetch Metadata Request Headers, W3C.
    """
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return False
    opened = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return opened != ("navigate", "document")


def add_headers(headers: MutableHeaders) -> None:
    """Add the content policy and the other headers to an answer's own."""
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("cache-control", "no-store")


def check_host(headers: Headers, names: Collection[str]) -> None:
    """Refuse a request for a foreign host name.

    The host must be an address, or one of the page's names. Else a site whose name an attacker lets
    point at 127.0.0.1 could read the page through the visitor's browser (DNS rebinding).

    Args:
        names: Lower-case host names that are this page's.

    Raises:
        ForeignHost: The host is another one.
    """
    host = headers.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    name = name.strip("[]").rstrip(".").lower()
    if name in names or _is_address(name):
        return
    raise ForeignHost(
        "The page does not answer under this host name. Open it by its address, such as"
        " 127.0.0.1, or name the host with --host."
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def read_form(request: Request, forgery_key: str) -> dict[str, str]:
    """Read a form that this page sent.

    Args:
        forgery_key: What the form must contain, see Visitor.

    Returns:
        The fields without the key; of a field that occurs twice, the last value.

    Raises:
        OldForm: The browser says that the form is this page's, but the key is another session's.
        Forged: The form comes from another site, or lacks the key.
        FormTooLarge: It has more than MAX_FORM_BYTES.
    """
    check_origin(request)
    fields = dict(parse_qsl(await _read_body(request), keep_blank_values=True))
    key = fields.pop(FORGERY_FIELD, "")
    if not hmac.compare_digest(key.encode(), forgery_key.encode()):
        raise OldForm(fields) if find_sender(request) == Sender.OWN else Forged(NOT_OF_SESSION)
    return fields


def check_origin(request: Request) -> None:
    """Raise Forged if the browser says that another site sent the request."""
    if find_sender(request) == Sender.OTHER:
        raise Forged("The form was sent by another site, so nothing was done.")


class Sender(Enum):
    """Who sent a request, as the browser says."""

    OWN = auto()
    OTHER = auto()
    UNKNOWN = auto()


def find_sender(request: Request) -> Sender:
    """Tell whether this page sent a request, by its header Origin."""
    origin = request.headers.get("origin")
    if origin is None:
        return Sender.UNKNOWN
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return Sender.OWN if origin == own else Sender.OTHER


async def _read_body(request: Request) -> str:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM_BYTES:
            raise FormTooLarge(
                f"The form has more than {MAX_FORM_BYTES:,} bytes, so nothing was done."
            )
    return body.decode("utf-8", "replace")


def cookie_options(scheme: str) -> dict[str, Any]:
    """Return the options of the session's cookie.

    Scripts cannot read it, and other sites' forms do not send it. Over TLS it is never sent in
    clear.
    """
    return {"httponly": True, "samesite": "lax", "secure": scheme == "https", "path": "/"}
