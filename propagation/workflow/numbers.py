"""The numbers, live: one thread owns the view; learning and reading take turns on it."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from propagation.workflow.view import NumbersView

P = ParamSpec("P")
T = TypeVar("T")


class Numbers:
    """Runs functions of the view, one at a time, off the event loop."""

    def __init__(self, view: NumbersView) -> None:
        self.view = view
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="numbers")

    async def run(self, work: Callable[Concatenate[NumbersView, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self.view, *args, **kwargs))

    async def taste_weights(self, refs: Sequence[int], count: int) -> Sequence[Sequence[tuple[int, float]]]:
        return await self.run(NumbersView.taste_weights, refs, count)

    def close(self) -> None:
        self._thread.shutdown()
