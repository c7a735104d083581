"""Export of everything held on a client, and forgetting it."""

from collections.abc import AsyncIterator
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.runtime.console import make_printable
from services.web.meant_clients import TYPED_FIELD, find_meant_clients
from services.web.rendering import KINDS, get_visitor, link_client
from services.web.state import get_form, get_state
from services.web.views.clients.client_pages import find_title, read_key, show_client
from services.web.views.view_table import ViewTable

COUNTED_EVENTS = 1_000
PREVIEW_SECONDS = 600.0
"""How long a browser waits for a preview, which reads as much as the erasure."""


async def export_client(request: Request) -> Response:
    """Stream everything held on the client, as a file of JSON lines."""
    key = read_key(request.query_params)
    records = aiter(get_visitor(request).stub.ExportClient(pb.ExportClientRequest(key=key)))
    # A refused call becomes a page, so the file begins only after the first record.
    first = await anext(records, None)

    async def lines() -> AsyncIterator[str]:
        if first is not None:
            yield f"{first.json_line}\n"
        async for record in records:
            yield f"{record.json_line}\n"

    kind = KINDS[key.kind]
    name = quote(f"{kind}-{key.id[:80]}.jsonl", safe="")
    return StreamingResponse(
        lines(),
        media_type="application/jsonl",
        headers={
            "content-disposition": (
                f"attachment; filename=\"{kind}.jsonl\"; filename*=UTF-8''{name}"
            )
        },
    )


async def show_forget(request: Request) -> Response:
    """Show what forgetting would erase, and the form that does it."""
    return await _show_forget(request, read_key(request.query_params), None)


async def preview_forget(request: Request) -> Response:
    """Show exactly what forgetting would erase; nothing is done."""
    key = read_key(get_form(request))
    stub = get_visitor(request).stub
    planned = await get_state(request).previews.run(
        request,
        lambda: stub.ForgetClient(
            pb.ForgetClientRequest(key=key, dry_run=True), timeout=PREVIEW_SECONDS
        ),
    )
    return await _show_forget(request, key, planned)


async def _show_forget(
    request: Request, key: pb.ClientKey, planned: pb.ForgetClientResponse | None
) -> Response:
    visitor = get_visitor(request)
    listed = await visitor.stub.ListClientEvents(
        pb.ListClientEventsRequest(key=key, page_size=COUNTED_EVENTS)
    )
    return show_client(
        request,
        "forget.html",
        key,
        await find_title(visitor, key) or "",
        events=len(listed.events),
        more=bool(listed.next_page_token),
        planned=planned,
        meant=await find_meant_clients(request) if TYPED_FIELD in request.query_params else (),
        id_to_type=make_printable(key.id),
    )


async def forget(request: Request) -> Response:
    """Forget the client, if its id was typed."""
    visitor = get_visitor(request)
    form = get_form(request)
    key = read_key(form)
    if not is_typed(key.id, form.get(TYPED_FIELD, "")):
        visitor.notices.append(
            f"Nothing was erased: what was typed is not the id of this {KINDS[key.kind]}."
        )
        typed = {TYPED_FIELD: form[TYPED_FIELD]} if form.get(TYPED_FIELD) else {}
        return RedirectResponse(link_client(key, "/client/forget", **typed), 303)
    answer = await visitor.stub.ForgetClient(
        pb.ForgetClientRequest(key=key, wipe=True if "wipe" in form else None)
    )
    visitor.notices.append(
        f"{KINDS[key.kind].capitalize()} {key.id} was forgotten:"
        f" {pluralize(answer.events_erased, 'event')} erased, and"
        f" {pluralize(answer.lines_dropped, 'line')} of other profiles gone with them. "
        + (
            "The factors were learned again, and the files were wiped."
            if "wipe" in form
            else "The ranker's factors and the database's files follow in the night."
        )
    )
    return RedirectResponse("/clients", 303)


def is_typed(id_: str, typed: str) -> bool:
    """Tell whether a visitor typed an id.

    Ids with characters that nobody can type may be typed as they are shown.
    """
    return typed.strip() in (id_.strip(), make_printable(id_).strip())


VIEWS = ViewTable(
    pages={"/client/export": export_client, "/client/forget": show_forget},
    forms={"/client/forget": forget, "/client/forget/preview": preview_forget},
)
