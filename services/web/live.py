"""Live views: streams of frames.

A visitor's stream sends the newest state of the feed and leaves out what came between two frames,
so a slow reader delays nobody.
"""

from collections.abc import AsyncIterator, Callable

from services.web.access.feed import Feed, Snapshot
from services.web.access.sessions import Visitor
from services.web.rendering import write_json

HEARTBEAT_SECONDS = 15.0

Parts = Callable[[Visitor, Snapshot], dict[str, str]]
"""Renders the parts of a view that are updated live: markup by the id of the element."""


async def stream_frames(
    feed: Feed, visitor: Callable[[], Visitor | None], parts: Parts
) -> AsyncIterator[str]:
    """Yield server-sent events: a frame whenever something changed.

    A frame has the parts whose markup changed since this visitor's last frame. While a visitor does
    not read, frames are left out.

    Args:
        visitor: Returns the visitor, or None once the session has ended.
        parts: The parts of the view.
    """
    sent: dict[str, str] = {}
    number = -1
    yield "retry: 1000\n\n"
    while True:
        snapshot = await feed.wait_newer(number, HEARTBEAT_SECONDS)
        current = visitor()
        if current is None or snapshot.signed_out:
            yield "event: signed-out\ndata: {}\n\n"
            return
        if feed.ended:
            return
        if snapshot.number == number:
            yield ": still here\n\n"
            continue
        number = snapshot.number
        if snapshot.status is None and not snapshot.problem:
            continue
        rendered = parts(current, snapshot)
        changed = {key: text for key, text in rendered.items() if sent.get(key) != text}
        sent |= changed
        frame = {
            "parts": changed,
            "problem": snapshot.problem,
            "flows": [
                [router, flow.sent, flow.merged, flow.dropped]
                for router, flow in sorted(snapshot.flows.items())
            ],
        }
        yield f"event: frame\ndata: {write_json(frame)}\n\n"
