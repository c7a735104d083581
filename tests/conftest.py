"""Shared by all tests: compiled kernels are kept between runs, and a Ctrl-C that a test sends is
heard."""

import signal

from services.runtime.kernel_cache import use_kernel_cache

use_kernel_cache()


def pytest_configure() -> None:
    """A shell starts what it runs in the background with SIGINT ignored, and processes hand that on
    to theirs."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
