"""This process: its name, clock and garbage collector."""

import contextlib
import ctypes
import gc
import os
import secrets
import socket
import time
from functools import cache

LARGE_BYTES = 1 << 20
M_MMAP_THRESHOLD, M_TRIM_THRESHOLD = -3, -1  # of glibc's malloc.h


class SystemClock:
    """The system's clock."""

    def now_ms(self) -> int:
        """Return the milliseconds since 1970."""
        return time.time_ns() // 1_000_000


@cache
def process_name() -> str:
    """Name this process in leases and traces.

    The name ends with random digits: containers with one host name may also share process ids.
    """
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def raise_garbage_thresholds(young: int = 2_000) -> None:
    """Run Python's cycle collector less often than its defaults would.

    Texts, clients and messages form no cycles, are freed by reference counts, and fill caches by
    the hundred thousand. Under the default thresholds, scanning them took a third of an
    interaction's time (0.7 of 1.9 ms, ML-100k). Now the young generation is scanned after 2,000
    new objects (about a millisecond) and older ones after 250 such scans.

    Args:
        young: New objects until a scan. More suit a process that answers no calls: scans take
            longer, but most objects are freed before one.
    """
    gc.set_threshold(young, 250, 1_000)


def return_large_arrays() -> None:
    """Give the memory of large freed arrays back to the system.

    By itself, glibc does so only until the first large array is freed. From then on it keeps the
    memory of arrays that are smaller, up to 32 MB, for later use: 90 MB after a start with 100,000
    clients. Other C libraries have no such setting.
    """
    with contextlib.suppress(AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        library.mallopt(M_TRIM_THRESHOLD, 2 * LARGE_BYTES)
