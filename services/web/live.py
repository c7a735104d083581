"""Live views: streams of frames.

A visitor's stream sends the newest state of the feed and leaves out what came between two frames,
so a slow reader delays nobody.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from services.security.networks import name_network
from services.web.access.feed import Feed, Snapshot
from services.web.access.sessions import Visitor
from services.web.rendering import write_json

HEARTBEAT_SECONDS = 15.0
MAX_STREAMS = 20
SIGNED_OUT = "event: signed-out\ndata: {}\n\n"

Parts = Callable[[Visitor, Snapshot], dict[str, str]]
"""Renders the parts of a view that are updated live: markup by the id of the element."""


class TooManyStreams(Exception):
    """A token has too many live views open at one address."""


class OpenStreams:
    """Counts open live views, MAX_STREAMS for each token and address."""

    def __init__(self) -> None:
        self._open: Counter[tuple[str, str]] = Counter()

    def answer(self, audience: str, host: str, frames: AsyncIterator[str]) -> Response:
        """Return an answer that streams frames, and is counted until it ends.

        Raises:
            TooManyStreams: The token has too many at this address.
        """
        key = (audience, name_network(host) or host)
        if self._open[key] >= MAX_STREAMS:
            raise TooManyStreams(
                f"{MAX_STREAMS} live views are open at your address. Close some of them."
            )
        self._open[key] += 1
        return _CountedAnswer(frames, lambda: self._end(key))

    def _end(self, key: tuple[str, str]) -> None:
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]


class _CountedAnswer(StreamingResponse):
    """Server-sent events, which call `end` however they end."""

    def __init__(self, frames: AsyncIterator[str], end: Callable[[], None]) -> None:
        super().__init__(frames, media_type="text/event-stream")
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._end()


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
            yield SIGNED_OUT
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
