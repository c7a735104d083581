"""Descriptions that a model writes while interactions are reasoned."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from propagation.model import split_into_batches
from propagation.ports import GraphStore, Lease, ModelWork, Reasoner, VersionClash, asking_for
from propagation.workflow.concurrency import DESCRIBE_LEASE, Leases
from propagation.workflow.reason.description_queue import DescriptionQueue

MAX_LOST_RACES = 5
CLIENTS_A_READ, RETRIED_TOGETHER = 2_000, 20
DescribeAndPublish = Callable[[Sequence[int], int], Awaitable[set[int]]]
"""Describes clients, committed at a sequence or later; returns those that failed."""


@dataclass
class DescriptionSweep:
    """Describes queued clients, each call's at a time.

    Those for which interactions wait come first, and may use every slot of the reasoner. The others
    use the slots that interactions leave, but at least one.

    Attributes:
        is_describing: Whether this process describes clients.
    """

    store: GraphStore
    queue: DescriptionQueue
    leases: Leases
    reasoner: Reasoner
    describe: DescribeAndPublish
    is_describing: bool = False
    _task: "asyncio.Task[None] | None" = None
    _first: dict[int, "asyncio.Future[None]"] = field(default_factory=dict)
    _under_way: set[int] = field(default_factory=set)
    _interactions: int = 0
    _stopping: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _reported: int = 0

    def begin(self, interactions: int) -> None:
        """Begin to describe clients, unless that goes on already.

        Args:
            interactions: How many interactions are under way.

        Raises:
            Exception: The error with which the last sweep ended.
        """
        self._interactions = interactions
        self._raise_error()
        if self._task is None and (self.queue.entries or self.queue.is_retry_due()):
            self._task = asyncio.create_task(self._run())

    async def count_progress(self, seconds: float) -> int:
        """Return how many clients were described since the last call.

        During a sweep it is at least 1.

        Args:
            seconds: How long to wait for the end of the sweep.

        Raises:
            Exception: The error with which the sweep ended.
        """
        if self._task is not None and seconds:
            await asyncio.wait({self._task}, timeout=seconds)
        self._raise_error()
        before, self._reported = self._reported, self.queue.described
        return self.queue.described - before + (self._task is not None)

    async def describe_first(self, refs: Sequence[int]) -> None:
        """Wait until these clients are described, before all others.

        It returns at once for clients that are described, and if another process describes.
        """
        waiting = [ref for ref in refs if ref in self.queue.outstanding]
        if not waiting or self._task is None or self._task.done() or self._stopping:
            return
        loop = asyncio.get_running_loop()
        futures = [self._first.setdefault(ref, loop.create_future()) for ref in waiting]
        self._changed.set()
        await asyncio.wait(futures)

    async def settle(self) -> None:
        """Wait until no description is under way.

        The clients that are left stay queued.
        """
        if self._task is None:
            return
        self._stopping = True
        self._changed.set()
        try:
            await asyncio.wait({self._task})
        finally:
            self._stopping = False

    async def close(self) -> None:
        """Cancel the descriptions under way, as if they had not begun."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _raise_error(self) -> None:
        """If the sweep has ended, forget it, and raise its error."""
        if self._task is not None and self._task.done():
            task, self._task = self._task, None
            task.result()

    def _release(self, refs: Sequence[int]) -> None:
        """Let interactions that wait for these clients go on."""
        self._under_way.difference_update(refs)
        for ref in refs:
            if (waiting := self._first.pop(ref, None)) is not None:
                waiting.set_result(None)

    async def _run(self) -> None:
        """Describe all clients that wait, unless another process does."""
        try:
            async with self.leases.hold(DESCRIBE_LEASE) as lease:
                await self.queue.follow_others()
                if lease is None:
                    return
                self.is_describing = True
                try:
                    await self._describe_all(lease)
                finally:
                    self.is_describing = False
        finally:
            self._release([*self._first])

    async def _describe_all(self, lease: Lease) -> None:
        """Describe all clients that wait; then retry some of those that failed."""
        await self._describe_parts(lease)
        if self.queue.is_retry_due() and not self._stopping:
            recorded = await self.store.get_recorded_through()
            retried = sorted(self.queue.failed)[:RETRIED_TOGETHER]
            await self._describe_part(lease, dict.fromkeys(retried, recorded))

    async def _describe_parts(self, lease: Lease) -> None:
        """Describe as many parts at a time as there are slots."""
        running: set[asyncio.Task[None]] = set()
        changed = asyncio.create_task(self._changed.wait())
        last, seen = time.monotonic(), 0
        try:
            while True:
                self._changed.clear()
                if seen < self.queue.taken_through:
                    after, seen = seen, self.queue.taken_through
                    await self._pass_over_textless(lease, after)
                while not self._stopping and (part := self._take_part(len(running))):
                    running.add(asyncio.create_task(self._describe_part(lease, part)))
                if not running:
                    break
                if changed.done():
                    changed = asyncio.create_task(self._changed.wait())
                done, _ = await asyncio.wait(
                    {*running, changed}, return_when=asyncio.FIRST_COMPLETED
                )
                now = time.monotonic()
                self.queue.seconds += now - last
                last = now
                for task in done & running:
                    running.discard(task)
                    task.result()
        finally:
            for task in (*running, changed):
                task.cancel()
            await asyncio.gather(*running, changed, return_exceptions=True)

    async def _pass_over_textless(self, lease: Lease, after: int) -> None:
        """Note clients without text as described.

        Then calls are made for the others alone.

        Args:
            after: Only clients that changed after this sequence are looked at.
        """
        changed = {
            ref: sequence
            for ref, sequence in self.queue.outstanding.items()
            if sequence > after and ref not in self._under_way
        }
        for refs in split_into_batches(list(changed), CLIENTS_A_READ):
            described = await self.store.get_text_versions(refs)
            clients = await self.store.get_clients(refs)
            with_text = {client.ref for client in clients if client.has_text}
            passed = [ref for ref in refs if ref not in with_text and ref not in described]
            if passed:
                self.queue.note_described([(ref, changed[ref]) for ref in passed], asked=False)
                await self.queue.save(lease)

    def _take_part(self, running: int) -> dict[int, int]:
        """Take the clients of the next call.

        Args:
            running: How many calls are under way.

        Returns:
            The clients with the sequence of their newest change; none if there is no slot.
        """
        outstanding, most = self.queue.outstanding, self.reasoner.clients_a_call
        self._release([ref for ref in self._first if ref not in outstanding])
        first = [ref for ref in self._first if ref not in self._under_way][:most]
        slots = self.reasoner.concurrency
        if running >= (slots if first else max(1, slots - self._interactions)):
            return {}
        others = (ref for ref in outstanding if ref not in self._under_way and ref not in first)
        part = [*first, *islice(others, most - len(first))]
        self._under_way.update(part)
        return {ref: outstanding[ref] for ref in part}

    async def _describe_part(self, lease: Lease, part: Mapping[int, int]) -> None:
        """Describe clients, then note that they are described.

        Args:
            part: The clients with the sequence of their newest change.
        """
        refs = [*part]
        is_awaited = not self._first.keys().isdisjoint(refs)
        work = ModelWork.INTERACTION if is_awaited else ModelWork.DESCRIPTION
        try:
            with asking_for(work):
                failed = await self._describe_again_if_lost(refs, max(part.values()))
            await self.queue.save_failures(refs, failed, lease)
            self.queue.note_described(part.items())
            await self.queue.save(lease)
        finally:
            self._release(refs)

    async def _describe_again_if_lost(self, refs: Sequence[int], sequence: int) -> set[int]:
        """Describe clients; once more if an interaction has written a text meanwhile.

        The second time the answers come from the cache.

        Raises:
            VersionClash: Other writers were first MAX_LOST_RACES times in a row.
        """
        for _ in range(MAX_LOST_RACES - 1):
            try:
                return await self.describe(refs, sequence)
            except VersionClash:
                continue
        return await self.describe(refs, sequence)
