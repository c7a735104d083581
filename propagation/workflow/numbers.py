"""The numbers, live: one thread owns the view; learning and reading take turns on it. `cores` are for their kernels."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from propagation.model.errors import NotReached
from propagation.workflow.cores import Cores
from propagation.workflow.view import NumbersView

CLIENTS_A_TURN = 256
P = ParamSpec("P")
T = TypeVar("T")


class Numbers:
    """Runs functions of the view, one at a time, off the event loop."""

    def __init__(self, view: NumbersView) -> None:
        self.view = view
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="numbers")
        self.cores = Cores()
        self._moved = asyncio.Event()

    async def run(self, work: Callable[Concatenate[NumbersView, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        before = self.view.applied_through
        done = await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self.view, *args, **kwargs))
        if self.view.applied_through != before:
            moved, self._moved = self._moved, asyncio.Event()
            moved.set()
        return done

    async def reach(self, sequence: int, seconds: float) -> None:
        """Wait until the numbers reflect `sequence`. Raises NotReached after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                while self.view.applied_through < sequence:
                    await self._moved.wait()
        except TimeoutError:
            raise NotReached(sequence, self.view.applied_through) from None

    async def taste_weights(self, refs: Sequence[int], count: int) -> Sequence[Sequence[tuple[int, float]]]:
        """As the view's, some clients at a time: reads take their turns between."""
        found: list[list[tuple[int, float]]] = []
        for start in range(0, len(refs), CLIENTS_A_TURN):
            found += await self.run(NumbersView.taste_weights, refs[start : start + CLIENTS_A_TURN], count)
        return found

    def close(self) -> None:
        self._thread.shutdown()
        self.cores.close()
