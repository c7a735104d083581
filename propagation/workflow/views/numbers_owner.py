"""The owner of the numbers view, and the kernels' cores.

Learning and reading take turns on the view.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from propagation.model import ClientKind, NotReached, get_kind
from propagation.usable_cores import count_usable_cores
from propagation.workflow.views.numbers_view import NumbersView

MAX_THREADS = 4
MIN_BLOCKS = 128


class CorePool:
    """Splits a kernel's blocks over the cores, at most MAX_THREADS by default.

    The caller's thread takes part. Kernels release the interpreter lock, and their parts write to
    separate memory.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or min(count_usable_cores(), MAX_THREADS)
        self._others = ThreadPoolExecutor(max(self._threads - 1, 1), thread_name_prefix="cores")

    def run(self, blocks: int, kernel: Callable[[int, int], None]) -> None:
        """Call a kernel for parts of its blocks, and wait for all.

        Args:
            blocks: How many blocks there are; the parts cover [0, blocks).
            kernel: Called as kernel(begin, end), on several threads if there are many blocks.
        """
        parts = min(self._threads, blocks // MIN_BLOCKS)
        if parts < 2:
            kernel(0, blocks)
            return
        bounds = [(blocks * part // parts, blocks * (part + 1) // parts) for part in range(parts)]
        others = [self._others.submit(kernel, begin, end) for begin, end in bounds[1:]]
        try:
            kernel(*bounds[0])
        finally:
            wait(others)
        for other in others:
            other.result()

    def close(self) -> None:
        self._others.shutdown()


P = ParamSpec("P")
T = TypeVar("T")


class NumbersOwner:
    """Runs functions on the numbers view, one by one, in a thread.

    Attributes:
        view: The numbers view; only functions given to `run` may change it.
        cores: Splits the kernels of these functions over the cores.
    """

    def __init__(self, view: NumbersView) -> None:
        self.view = view
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="numbers")
        self._lock = threading.Lock()
        self.cores = CorePool()
        self._progress = asyncio.Event()

    async def run(
        self, work: Callable[Concatenate[NumbersView, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function on the view, and return what it returns."""
        before = self.view.applied_through

        def run_alone() -> T:
            with self._lock:
                return work(self.view, *args, **kwargs)

        done = await asyncio.get_running_loop().run_in_executor(self._thread, run_alone)
        if self.view.applied_through != before:
            progress, self._progress = self._progress, asyncio.Event()
            progress.set()
        return done

    async def find_rarely_chosen(self, refs: Collection[int], least_users: int) -> frozenset[int]:
        """Find the items that fewer than `least_users` users chose.

        If `refs` has no item, or `least_users` is 0, this does not wait for the numbers' thread,
        which may be learning.
        """
        if not least_users or all(get_kind(ref) == ClientKind.USER for ref in refs):
            return frozenset()
        return await self.run(NumbersView.find_rarely_chosen, refs, least_users)

    @contextmanager
    def try_borrow(self) -> Iterator[NumbersView | None]:
        """Lend the view to the caller's thread.

        This is for reads that take less time than a change of threads.

        Returns:
            The view, or None while another function runs on it.
        """
        if not self._lock.acquire(blocking=False):
            yield None
            return
        try:
            yield self.view
        finally:
            self._lock.release()

    async def wait_until_applied(self, sequence: int, seconds: float) -> None:
        """Wait until the numbers reflect a sequence.

        Raises:
            NotReached: The numbers did not reach it in time.
        """
        try:
            async with asyncio.timeout(seconds):
                while self.view.applied_through < sequence:
                    await self._progress.wait()
        except TimeoutError:
            raise NotReached(sequence, self.view.applied_through) from None

    def close(self) -> None:
        self._thread.shutdown()
        self.cores.close()
