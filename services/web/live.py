"""Live views.

Visitors who see the same share a feed, and each gets a stream of frames. A feed asks for the status
once a second and watches propagation. A visitor's stream sends the newest state and leaves out what
came between two frames, so a slow reader delays nobody.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc

from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed, PropagationClient
from services.web.access.sessions import Visitor
from services.web.rendering import write_json

POLL_SECONDS = 1.0
HEARTBEAT_SECONDS = 15.0
RATE_SECONDS = 10.0
FLOW_MINUTES = 5
BUCKET_SECONDS = 10.0
MAX_RECENT = 50
LINGER_SECONDS = 5.0


@dataclass(frozen=True)
class Flow:
    """What a router's messages did in the last FLOW_MINUTES minutes."""

    sent: int = 0
    merged: int = 0
    dropped: int = 0


@dataclass(frozen=True)
class Snapshot:
    """What a feed knows at one moment.

    Attributes:
        number: Grows with each change.
        status: The last status; None before the first.
        problem: Why the service does not answer, in a sentence; empty while it does.
        signed_out: Whether the token is no longer valid.
        per_second: Log entries recorded a second, over the last RATE_SECONDS; None if unknown.
        flows: By router of the taste bank.
        recent: The newest events of WatchPropagation, newest first.
    """

    number: int = 0
    status: pb.GetStatusResponse | None = None
    problem: str = ""
    signed_out: bool = False
    per_second: float | None = None
    flows: Mapping[int, Flow] = field(default_factory=dict)
    recent: tuple[pb.WatchPropagationResponse, ...] = ()


Audience = tuple[str, int]
"""Visitors with one token over one connection."""
Parts = Callable[[Visitor, Snapshot], dict[str, str]]
"""Renders the parts of a view that are updated live: markup by the id of the element."""


class FlowCounts:
    """Counts of messages by router, in buckets of BUCKET_SECONDS."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: deque[tuple[float, dict[int, list[int]]]] = deque()

    def add(self, event: pb.WatchPropagationResponse) -> None:
        """Count a message or a merge; other events count nothing."""
        match event.WhichOneof("event"):
            case "message":
                self._bucket(event.message.router)[0] += 1
            case "merge":
                merged = event.merge.outcome == pb.MERGE_OUTCOME_MERGED
                self._bucket(event.merge.router)[1 if merged else 2] += 1
            case _:
                pass

    def sum(self) -> dict[int, Flow]:
        """Return what each router did in the last FLOW_MINUTES minutes."""
        oldest = self._clock() - 60 * FLOW_MINUTES
        while self._buckets and self._buckets[0][0] < oldest:
            self._buckets.popleft()
        sums: dict[int, list[int]] = {}
        for _, bucket in self._buckets:
            for router, counts in bucket.items():
                total = sums.setdefault(router, [0, 0, 0])
                for place, count in enumerate(counts):
                    total[place] += count
        return {router: Flow(*counts) for router, counts in sums.items()}

    def _bucket(self, router: int) -> list[int]:
        now = self._clock()
        if not self._buckets or now - self._buckets[-1][0] >= BUCKET_SECONDS:
            self._buckets.append((now, {}))
        return self._buckets[-1][1].setdefault(router, [0, 0, 0])


class Feed:
    """The live state of the service, as one token sees it."""

    def __init__(
        self, client: PropagationClient, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._clock = clock
        self._flows = FlowCounts(clock)
        self._recent: deque[pb.WatchPropagationResponse] = deque(maxlen=MAX_RECENT)
        self._recorded: deque[tuple[float, int]] = deque()
        self._changed = asyncio.Condition()
        self._resume_token = ""
        self.snapshot = Snapshot()
        self.ended = False

    async def run(self) -> None:
        """Follow the service until cancelled.

        A service that does not answer is asked again.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._poll())
            tasks.create_task(self._watch())

    async def wait_newer(self, number: int, seconds: float) -> Snapshot:
        """Return a newer snapshot, or the last one after some seconds."""
        async with self._changed:
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait_for(
                        lambda: self.ended or self.snapshot.number > number
                    )
            except TimeoutError:
                pass
            return self.snapshot

    async def end(self) -> None:
        """Let all streams end by themselves."""
        async with self._changed:
            self.ended = True
            self._changed.notify_all()

    async def _poll(self) -> None:
        while True:
            status, problem, signed_out = self.snapshot.status, "", False
            try:
                status = await self._client.stub.GetStatus(pb.GetStatusRequest(), timeout=5.0)
            except CallFailed as error:
                problem = str(error)
                signed_out = error.code() in (
                    grpc.StatusCode.UNAUTHENTICATED,
                    grpc.StatusCode.PERMISSION_DENIED,
                )
                self._recorded.clear()
            per_second = self._measure_rate(status) if status and not problem else None
            async with self._changed:
                self.snapshot = Snapshot(
                    number=self.snapshot.number + 1,
                    status=status,
                    problem=problem,
                    signed_out=signed_out,
                    per_second=per_second,
                    flows=self._flows.sum(),
                    recent=tuple(reversed(self._recent)),
                )
                self._changed.notify_all()
            await asyncio.sleep(POLL_SECONDS)

    async def _watch(self) -> None:
        while True:
            request = pb.WatchPropagationRequest(resume_token=self._resume_token)
            try:
                async for event in self._client.stub.WatchPropagation(request):
                    self._resume_token = event.resume_token
                    self._flows.add(event)
                    if event.WhichOneof("event") != "merge":
                        self._recent.append(event)
            except CallFailed as error:
                if error.code() == grpc.StatusCode.INVALID_ARGUMENT:
                    self._resume_token = ""  # another graph is served at this address now
            await asyncio.sleep(POLL_SECONDS)

    def _measure_rate(self, status: pb.GetStatusResponse) -> float | None:
        now = self._clock()
        self._recorded.append((now, status.recorded_through))
        while now - self._recorded[0][0] > RATE_SECONDS:
            self._recorded.popleft()
        begun, recorded = self._recorded[0]
        if now - begun < POLL_SECONDS / 2:
            return None
        return max(0.0, (status.recorded_through - recorded) / (now - begun))


class Feeds:
    """The feeds that somebody looks at, one for each audience."""

    def __init__(self) -> None:
        self._feeds: dict[Audience, tuple[Feed, asyncio.Task[None]]] = {}
        self._readers: dict[Audience, int] = {}

    @asynccontextmanager
    async def follow(self, visitor: Visitor) -> AsyncIterator[Feed]:
        """Follow the feed of a visitor's audience within the block.

        A feed ends LINGER_SECONDS after its last reader, so that the next page finds it running.
        """
        key = (visitor.audience, id(visitor.client))
        if key not in self._feeds:
            feed = Feed(visitor.client)
            self._feeds[key] = (feed, asyncio.create_task(feed.run()))
        self._readers[key] = self._readers.get(key, 0) + 1
        try:
            yield self._feeds[key][0]
        finally:
            self._readers[key] -= 1
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._end_if_unread, key)

    def find(self, visitor: Visitor) -> Snapshot | None:
        """Return the newest snapshot of a visitor's audience, if a feed runs."""
        found = self._feeds.get((visitor.audience, id(visitor.client)))
        return found[0].snapshot if found else None

    async def end_streams(self) -> None:
        """Let all streams end by themselves, before the server stops."""
        await asyncio.gather(*(feed.end() for feed, _ in self._feeds.values()))

    async def close(self) -> None:
        """End all feeds."""
        tasks = [task for _, task in self._feeds.values()]
        self._feeds.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end_if_unread(self, key: Audience) -> None:
        if not self._readers.get(key) and key in self._feeds:
            self._readers.pop(key, None)
            self._feeds.pop(key)[1].cancel()


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
        if feed.ended:
            return
        if snapshot.number == number:
            yield ": still here\n\n"
            continue
        number = snapshot.number
        current = visitor()
        if current is None or snapshot.signed_out:
            yield "event: signed-out\ndata: {}\n\n"
            return
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
