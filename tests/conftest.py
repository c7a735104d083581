"""Shared by all tests: compiled kernels are kept between runs, files of tests lie in memory, and a
Ctrl-C that a test sends is heard."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from services.runtime.kernel_cache import use_kernel_cache

use_kernel_cache()

IN_MEMORY = Path("/dev/shm")
NEEDED_BYTES = 2 << 30


def pytest_configure(config: pytest.Config) -> None:
    keep_files_in_memory(config)
    hear_interrupts()


def keep_files_in_memory(config: pytest.Config) -> None:
    """Let `tmp_path` lie in memory, unless a place is named or there is too little of it.

    SQLite and Qdrant wait for the disk at each commit, which was a large part of a run. No test
    cuts the power: what a killed process wrote stays readable in memory as well as on a disk.
    """
    named = config.option.basetemp or "PYTEST_DEBUG_TEMPROOT" in os.environ
    if named or not os.access(IN_MEMORY, os.W_OK):
        return
    if shutil.disk_usage(IN_MEMORY).free >= NEEDED_BYTES:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(IN_MEMORY)


def hear_interrupts() -> None:
    """A shell starts what it runs in the background with SIGINT ignored, and processes hand that on
    to theirs."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
