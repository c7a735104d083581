"""Settings of all tests.

Compiled kernels are kept between runs, files of tests lie in memory, and a SIGINT that a test sends
is not ignored.
"""

import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from services.runtime.kernel_cache import use_kernel_cache

use_kernel_cache()
# Properties are about results: on a busy machine an example of a microsecond may take a second.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")

IN_MEMORY = Path("/dev/shm")
NEEDED_BYTES = 2 << 30


def pytest_configure(config: pytest.Config) -> None:
    keep_files_in_memory(config)
    hear_interrupts()


def keep_files_in_memory(config: pytest.Config) -> None:
    """Put `tmp_path` into memory, if there is enough of it.

    A folder that the run names has precedence. SQLite and Qdrant wait for the disk at each commit,
    which was a large part of a run. No test cuts the power: bytes that a killed process wrote stay
    readable in memory as well as on a disk.
    """
    named = config.option.basetemp or "PYTEST_DEBUG_TEMPROOT" in os.environ
    if named or not os.access(IN_MEMORY, os.W_OK):
        return
    if shutil.disk_usage(IN_MEMORY).free >= NEEDED_BYTES:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(IN_MEMORY)


def hear_interrupts() -> None:
    """Handle SIGINT if this process was started with SIGINT ignored.

    A shell starts background processes so, and their child processes inherit it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
