"""Combines concurrent calls into batches that share a commit or pass."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Call = TypeVar("Call")
Answer = TypeVar("Answer")


class CallBatcher(Generic[Call, Answer]):
    """Runs one batch at a time.

    Calls that arrive while a batch runs form the next batch. A call that is cancelled before its
    batch starts is left out; a call that is cancelled later is run all the same.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Call]], Awaitable[Sequence[Answer]]],
        size: Callable[[Call], int],
        limit: int,
        away: tuple[type[Exception], ...] = (),
    ) -> None:
        """Prepare batches.

        Args:
            run: Runs a batch; returns one answer per call.
            size: Returns the size of a call, in the unit of `limit`.
            limit: The largest total size of a batch; a single call may be larger.
            away: Errors that say that a server does not answer. If a batch raises one, the waiting
                calls fail with it too, because each of their batches would wait as long again.
        """
        self._run = run
        self._size = size
        self._limit = limit
        self._away = away
        self._waiting: deque[tuple[Call, asyncio.Future[Answer]]] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a batch is running."""
        return self._task is not None

    async def submit(self, call: Call) -> Answer:
        """Return the call's answer, or raise what its batch raised."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((call, answer))
        if self._task is None:
            self._task = asyncio.create_task(self._run_batches())
        return await answer

    async def _run_batches(self) -> None:
        try:
            while batch := self._take_next_batch():
                futures = [future for _, future in batch]
                try:
                    answers = await self._run([call for call, _ in batch])
                except Exception as error:
                    if isinstance(error, self._away):
                        futures += [future for _, future in self._waiting]
                        self._waiting.clear()
                    for future in futures:
                        if not future.done():
                            future.set_exception(error)
                else:
                    for future, answer in zip(futures, answers, strict=True):
                        if not future.done():
                            future.set_result(answer)
        finally:
            self._task = None

    def _take_next_batch(self) -> list[tuple[Call, "asyncio.Future[Answer]"]]:
        batch: list[tuple[Call, asyncio.Future[Answer]]] = []
        total = 0
        while self._waiting:
            call, future = self._waiting[0]
            if batch and total + self._size(call) > self._limit:
                break
            self._waiting.popleft()
            if not future.cancelled():
                batch.append((call, future))
                total += self._size(call)
        return batch
