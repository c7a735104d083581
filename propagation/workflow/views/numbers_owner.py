"""The numbers, live: learning and reading take turns on the view, on a thread of their own. `cores`
are for their kernels."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from propagation.model.errors import NotReached
from propagation.workflow.concurrency.core_pool import CorePool
from propagation.workflow.views.numbers_view import NumbersView

CLIENTS_A_TURN = 256
P = ParamSpec("P")
T = TypeVar("T")


class NumbersOwner:
    """One at a time has the view: functions on a thread of their own, or a brief reader where it
    stands."""

    def __init__(self, view: NumbersView) -> None:
        self.view = view
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="numbers")
        self._turn = threading.Lock()
        self.cores = CorePool()
        self._moved = asyncio.Event()

    async def run(
        self, work: Callable[Concatenate[NumbersView, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        before = self.view.applied_through

        def taken() -> T:
            with self._turn:
                return work(self.view, *args, **kwargs)

        done = await asyncio.get_running_loop().run_in_executor(self._thread, taken)
        if self.view.applied_through != before:
            moved, self._moved = self._moved, asyncio.Event()
            moved.set()
        return done

    @contextmanager
    def try_borrow(self) -> Iterator[NumbersView | None]:
        """The view here and now, on the caller's thread, to read what takes less time than to hand
        it over and back; None where somebody has it."""
        if not self._turn.acquire(blocking=False):
            yield None
            return
        try:
            yield self.view
        finally:
            self._turn.release()

    async def reach(self, sequence: int, seconds: float) -> None:
        """Wait until the numbers reflect `sequence`. Raises NotReached after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                while self.view.applied_through < sequence:
                    await self._moved.wait()
        except TimeoutError:
            raise NotReached(sequence, self.view.applied_through) from None

    async def taste_weights(
        self, refs: Sequence[int], count: int
    ) -> Sequence[Sequence[tuple[int, float]]]:
        """As the view's, some clients at a time: reads take their turns between."""
        found: list[list[tuple[int, float]]] = []
        for start in range(0, len(refs), CLIENTS_A_TURN):
            found += await self.run(
                NumbersView.taste_weights, refs[start : start + CLIENTS_A_TURN], count
            )
        return found

    def close(self) -> None:
        self._thread.shutdown()
        self.cores.close()
