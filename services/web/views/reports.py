"""Reports of laboratory runs: HTML files of a folder."""

import asyncio
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from services.web.access.report_files import REPORT_POLICY
from services.web.access.sessions import Visitor
from services.web.rendering import get_visitor, show
from services.web.state import get_state
from services.web.views.addresses import read_number
from services.web.views.view_table import ViewTable

PAGE_SIZE = 50
MAX_PAGE = 99_999
ROLES = frozenset({"analyst", "admin"})
"""Reports may name users, as these roles may see them."""


async def show_reports(request: Request) -> Response:
    """List the reports, newest first."""
    folder = get_state(request).reports
    if folder is None or not await _may_read(get_visitor(request)):
        return show(request, "operator/reports.html", state="closed" if folder else "none")
    page = read_number(request.query_params.get("page", "1"), "The page of a list", 1, MAX_PAGE)
    start = PAGE_SIZE * (page - 1)
    try:
        reports = await asyncio.to_thread(folder.list_reports)
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        return show(request, "operator/reports.html", state="broken", reason=reason)
    shown = reports[start : start + PAGE_SIZE]
    titles = await asyncio.to_thread(lambda: [folder.read_title(one.path) for one in shown])
    return show(
        request,
        "operator/reports.html",
        state="open",
        reports=[
            (one, title, f"/reports/{quote(one.path)}")
            for one, title in zip(shown, titles, strict=True)
        ],
        total=len(reports),
        token=str(page + 1) if len(reports) > start + PAGE_SIZE else "",
    )


async def show_report(request: Request) -> Response:
    """Show a report, in a sandbox."""
    folder = get_state(request).reports
    if folder is None or not await _may_read(get_visitor(request)):
        return await show_reports(request)
    file = await asyncio.to_thread(folder.find, request.path_params["path"])
    return FileResponse(
        file,
        media_type="text/html; charset=utf-8",
        headers={"content-security-policy": REPORT_POLICY, "cache-control": "no-store"},
    )


async def _may_read(visitor: Visitor) -> bool:
    """Ask the service whether the visitor has one of the roles.

    No call of the service guards a report, so the roles of an earlier answer do not suffice.
    """
    return not ROLES.isdisjoint(await visitor.connection.ask_roles())


VIEWS = ViewTable(pages={"/reports": show_reports, "/reports/{path:path}": show_report})
