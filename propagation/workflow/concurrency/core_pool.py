"""One kernel over many blocks, on all cores: it holds no interpreter lock, and its parts touch
nothing in common."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise

MOST_THREADS = 4
LEAST_BLOCKS = 128


class CorePool:
    """The caller's thread and, for what is large enough to be shared, one more for every other
    core."""

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or min(cores(), MOST_THREADS)
        self._others = ThreadPoolExecutor(max(self._threads - 1, 1), thread_name_prefix="cores")

    def run(self, blocks: int, kernel: Callable[[int, int], None]) -> None:
        """kernel(begin, end) over parts of [0, blocks); back when all of them are done."""
        parts = min(self._threads, blocks // LEAST_BLOCKS)
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


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
