"""Ignores sockets that the driver leaves open after a cancelled call."""

import gc
import warnings

import pytest

LEFT_SOCKET = r"unclosed <socket\.socket .*laddr=\('127\.0\.0\.1', \d+\)>$"


@pytest.fixture(autouse=True)
def cancelled_connection_attempts():
    """Ignore warnings of sockets whose connection attempt was cancelled.

    If a connection attempt fails, the driver closes the socket; if the attempt is cancelled, the
    driver leaves the socket to Python (6.4: `AsyncBoltSocketBase._connect_secure`). The warning of
    a connected socket would also name its peer, and is not ignored.
    """
    warnings.filterwarnings("ignore", LEFT_SOCKET, ResourceWarning)
    yield
    gc.collect()
