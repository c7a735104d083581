"""Where a visitor goes after the sign-in.

That is a page of this site, and never an address that only takes a form.
"""

import re
from collections.abc import Collection
from urllib.parse import unquote, urlsplit

from starlette.requests import Request
from starlette.routing import Match, Route

FIRST = "/"
# Browsers drop tabs and line breaks, so "/", a tab and "/" would begin another site's address.
DROPPED = re.compile(r"[\x00-\x1f]")


class ReturnAddresses:
    """The addresses at which this site shows a page."""

    def __init__(self, pages: Collection[Route]) -> None:
        self._pages = pages

    def check(self, address: str) -> str:
        """Return an address if it shows a page.

        Else the address of the first view.
        """
        foreign = address[1:2] in ("/", "\\")  # browsers would read it as another site's
        if not address.startswith("/") or foreign or DROPPED.search(address):
            return FIRST
        path = address.partition("#")[0].partition("?")[0]
        scope = {"type": "http", "method": "GET", "path": unquote(path)}
        shown = any(page.matches(scope)[0] == Match.FULL for page in self._pages)
        return address if shown else FIRST

    def find(self, request: Request) -> str:
        """Return the address of the page from which a request comes.

        A form comes from the page that has it (Referer); another request returns to itself.
        """
        if request.method != "POST":
            return self.check(_join(request.url.path, request.url.query))
        try:
            page = urlsplit(request.headers.get("referer", ""))
        except ValueError:  # no browser sends such a one
            return FIRST
        own = page.netloc == request.headers.get("host", "")
        return self.check(_join(page.path, page.query)) if own else FIRST


def _join(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path
