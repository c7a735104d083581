"""The cores of this machine, over which a kernel's blocks are split."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise

MAX_THREADS = 4
MIN_BLOCKS = 128


class CorePool:
    """Splits a kernel's blocks over all cores.

    The caller's thread takes part. Kernels release the interpreter lock, and their parts write to
    separate memory.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or min(usable_cores(), MAX_THREADS)
        self._others = ThreadPoolExecutor(max(self._threads - 1, 1), thread_name_prefix="cores")

    def run(self, blocks: int, kernel: Callable[[int, int], None]) -> None:
        """Call a kernel for parts of its blocks, and wait for all.

        Args:
            blocks: The parts cover [0, blocks).
            kernel: Called as kernel(begin, end).
        """
        parts = min(self._threads, blocks // MIN_BLOCKS)
        if parts < 2:
            kernel(0, blocks)
            return
        bounds = [blocks * part // parts for part in range(parts + 1)]
        others = [self._others.submit(kernel, begin, end) for begin, end in pairwise(bounds[1:])]
        try:
            kernel(bounds[0], bounds[1])
        finally:
            wait(others)
        for other in others:
            other.result()

    def close(self) -> None:
        self._others.shutdown()


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
