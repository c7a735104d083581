"""Callers who come while a commit is under way share the next one."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Grouped(Generic[Q, A]):
    """Calls `run` with everything that waits, at most `most` by `size` (one call may be larger),
    one run at a time. A caller who is cancelled before its turn is left out; after it, the commit
    stands."""

    def __init__(
        self,
        run: Callable[[Sequence[Q]], Awaitable[Sequence[A]]],
        size: Callable[[Q], int],
        most: int,
    ) -> None:
        self._run = run
        self._size = size
        self._most = most
        self._waiting: deque[tuple[Q, asyncio.Future[A]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def ask(self, question: Q) -> A:
        """The answer of the run that this question was part of, or what that run raised."""
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        if self._task is None:
            self._task = asyncio.create_task(self._drain())
        return await answer

    async def _drain(self) -> None:
        try:
            while group := self._next():
                try:
                    answers = await self._run([question for question, _ in group])
                except Exception as error:
                    for _, answer in group:
                        if not answer.done():
                            answer.set_exception(error)
                    continue
                for (_, answer), found in zip(group, answers, strict=True):
                    if not answer.done():
                        answer.set_result(found)
        finally:
            self._task = None

    def _next(self) -> list[tuple[Q, "asyncio.Future[A]"]]:
        group: list[tuple[Q, asyncio.Future[A]]] = []
        total = 0
        while self._waiting and (
            not group or total + self._size(self._waiting[0][0]) <= self._most
        ):
            question, answer = self._waiting.popleft()
            if not answer.cancelled():
                group.append((question, answer))
                total += self._size(question)
        return group
