"""The live state of the service, as one token sees it.

A feed asks for the status once a second, watches propagation and lists what was done lately, while
somebody reads it.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

import grpc

from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed, PropagationClient

POLL_SECONDS = 1.0
RATE_SECONDS = 10.0
FLOW_MINUTES = 5
BUCKET_SECONDS = 10.0
MAX_RECENT = 50
LATEST = 8
OPERATIONS_SECONDS = 5.0
"""How often operations are listed that WatchPropagation does not tell, such as back-ups."""
LINGER_SECONDS = 5.0
FEED_FAILED = "The live view failed, and is started again. The page's log says more."
log = logging.getLogger(__name__)


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
        operations: The LATEST operations, newest first; None before they were listed.
    """

    number: int = 0
    status: pb.GetStatusResponse | None = None
    problem: str = ""
    signed_out: bool = False
    per_second: float | None = None
    flows: Mapping[int, Flow] = field(default_factory=dict)
    recent: tuple[pb.WatchPropagationResponse, ...] = ()
    operations: tuple[pb.Operation, ...] | None = None


class FlowCounts:
    """Counts of messages by router, in buckets of BUCKET_SECONDS."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: deque[tuple[float, dict[int, list[int]]]] = deque()

    def add(self, event: pb.WatchPropagationResponse) -> None:
        """Count a message, or add counts of merges; other events count nothing."""
        match event.WhichOneof("event"):
            case "message":
                self._bucket(event.message.router)[0] += 1
            case "merge_counts":
                for router in event.merge_counts.routers:
                    counts = self._bucket(router.router)
                    counts[1] += router.merged
                    counts[2] += router.dropped
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
    """The live state of the service, as one token sees it.

    `note_status` is called with each status that the service answers.
    """

    def __init__(
        self,
        client: PropagationClient,
        note_status: Callable[[pb.GetStatusResponse], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._note_status = note_status
        self._clock = clock
        self._flows = FlowCounts(clock)
        self._recent: deque[pb.WatchPropagationResponse] = deque(maxlen=MAX_RECENT)
        self._recorded: deque[tuple[float, int]] = deque()
        self._operation_ended = asyncio.Event()
        self._changed = asyncio.Condition()
        self._resume_token = ""
        self.snapshot = Snapshot()
        self.ended = False

    async def run(self) -> None:
        """Follow the service until cancelled.

        A service that does not answer is asked again. After a fault of the page the feed is started
        again, and its readers see meanwhile that it failed.
        """
        while True:
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._poll())
                    tasks.create_task(self._watch())
                    tasks.create_task(self._list_operations())
            except ExceptionGroup as faults:
                log.error("the live feed failed, and is started again: %r", faults.exceptions[0])
                await self._publish(replace(self.snapshot, problem=FEED_FAILED))
            await asyncio.sleep(POLL_SECONDS)

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
                self._note_status(status)
            except CallFailed as error:
                problem = str(error)
                signed_out = error.code() in (
                    grpc.StatusCode.UNAUTHENTICATED,
                    grpc.StatusCode.PERMISSION_DENIED,
                )
                self._recorded.clear()
            per_second = self._measure_rate(status) if status and not problem else None
            await self._publish(
                Snapshot(
                    status=status,
                    problem=problem,
                    signed_out=signed_out,
                    per_second=per_second,
                    flows=self._flows.sum(),
                    recent=tuple(reversed(self._recent)),
                    operations=self.snapshot.operations,
                )
            )
            await asyncio.sleep(POLL_SECONDS)

    async def _publish(self, snapshot: Snapshot) -> None:
        """Make a snapshot the newest one, and wake the readers."""
        async with self._changed:
            self.snapshot = replace(snapshot, number=self.snapshot.number + 1)
            self._changed.notify_all()

    async def _watch(self) -> None:
        while True:
            request = pb.WatchPropagationRequest(resume_token=self._resume_token, count_merges=True)
            try:
                async for event in self._client.stub.WatchPropagation(request):
                    self._resume_token = event.resume_token
                    self._flows.add(event)
                    if event.WhichOneof("event") != "merge_counts":
                        self._recent.append(event)
                    if event.WhichOneof("event") in ("round", "evolution"):
                        self._operation_ended.set()
            except CallFailed as error:
                if error.code() == grpc.StatusCode.INVALID_ARGUMENT:
                    self._resume_token = ""  # another graph is served at this address now
            await asyncio.sleep(POLL_SECONDS)

    async def _list_operations(self) -> None:
        """List the newest operations after each round and evolution.

        Others are found every OPERATIONS_SECONDS.
        """
        request = pb.ListOperationsRequest(page_size=LATEST)
        while True:
            self._operation_ended.clear()
            with suppress(CallFailed):  # the next poll tells why
                answer = await self._client.stub.ListOperations(request)
                await self._publish(replace(self.snapshot, operations=tuple(answer.operations)))
            with suppress(TimeoutError):
                async with asyncio.timeout(OPERATIONS_SECONDS):
                    await self._operation_ended.wait()

    def _measure_rate(self, status: pb.GetStatusResponse) -> float | None:
        now = self._clock()
        self._recorded.append((now, status.recorded_through))
        while now - self._recorded[0][0] > RATE_SECONDS:
            self._recorded.popleft()
        begun, recorded = self._recorded[0]
        if now - begun < POLL_SECONDS / 2:
            return None
        return max(0.0, (status.recorded_through - recorded) / (now - begun))


class SharedFeed:
    """The feed of one token; it runs while somebody reads it."""

    def __init__(
        self, client: PropagationClient, note_status: Callable[[pb.GetStatusResponse], None]
    ) -> None:
        self._client = client
        self._note_status = note_status
        self._running: tuple[Feed, asyncio.Task[None]] | None = None
        self._readers = 0
        self._lingering: asyncio.TimerHandle | None = None
        self._closed = False

    @asynccontextmanager
    async def follow(self) -> AsyncIterator[Feed]:
        """Read the feed within the block.

        It ends LINGER_SECONDS after its last reader, so that the next page finds it running.
        """
        feed = self._find_or_start()
        self._readers += 1
        try:
            yield feed
        finally:
            self._readers -= 1
            if not self._readers and self._running is not None:
                self._lingering = asyncio.get_running_loop().call_later(LINGER_SECONDS, self._stop)

    def find_snapshot(self) -> Snapshot | None:
        """Return the newest snapshot, if the feed runs."""
        return self._running[0].snapshot if self._running else None

    async def end_streams(self) -> None:
        """Let all readers' streams end by themselves."""
        if self._running is not None:
            await self._running[0].end()

    async def close(self) -> None:
        """End the feed for good, before its client is closed."""
        self._closed = True
        await self.end_streams()
        task = self._stop()
        if task is not None:
            await asyncio.wait([task])

    def _find_or_start(self) -> Feed:
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        if self._running is not None:
            return self._running[0]
        feed = Feed(self._client, self._note_status)
        if self._closed:
            feed.ended = True
        else:
            self._running = (feed, asyncio.create_task(feed.run()))
        return feed

    def _stop(self) -> "asyncio.Task[None] | None":
        """Cancel the feed; return its task, if it ran."""
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        if self._running is None:
            return None
        _, task = self._running
        self._running = None
        task.cancel()
        return task
