"""Connects to a Qdrant server and translates its errors."""

import ipaddress
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import grpc
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

from propagation.model import IncompatibleSettings, IndexUnavailable

OLDEST = (1, 16)
"""The first release whose upserts take a filter; without it a late write could undo a newer one."""
RECONNECT = {"grpc.initial_reconnect_backoff_ms": 250, "grpc.max_reconnect_backoff_ms": 2_000}
"""By default, gRPC waits up to two minutes before it retries a server that was away for long."""
INVALID = frozenset({grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.ALREADY_EXISTS})
REFUSED = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})
log = logging.getLogger(__name__)


def connect(
    url: str, grpc_port: int, api_key: str | None, timeout_seconds: float
) -> AsyncQdrantClient:
    """Create a client, which connects at its first call and reconnects by itself.

    A key that would cross a network without encryption is logged as a warning.

    Args:
        timeout_seconds: The longest that a call may take.
    """
    if exposes_key(url, api_key):
        log.warning(
            "qdrant.api_key is sent to %s without encryption; use an https qdrant.url, unless only"
            " trusted machines share that network",
            urlsplit(url).hostname,
        )
    return AsyncQdrantClient(
        url=url,
        grpc_port=grpc_port,
        prefer_grpc=True,
        api_key=api_key,
        timeout=max(round(timeout_seconds), 1),
        check_compatibility=False,  # see check_version; the client would ask over HTTP in a thread
        grpc_options=dict(RECONNECT),
    )


def exposes_key(url: str, api_key: str | None) -> bool:
    """Return whether the key would cross a network without encryption."""
    parts = urlsplit(url)
    if api_key is None or parts.scheme == "https" or parts.hostname == "localhost":
        return False
    try:
        return not ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return True


async def check_version(client: AsyncQdrantClient) -> None:
    """Check that the server is not too old.

    Raises:
        IncompatibleSettings: It is older than OLDEST.
    """
    version = (await client.info()).version
    if tuple(int(part) for part in version.split("-")[0].split(".")[:2]) < OLDEST:
        raise IncompatibleSettings(
            f"qdrant.url: the server is Qdrant {version}; it must be at least"
            f" {OLDEST[0]}.{OLDEST[1]}, which"
            " can write a point only if it is newer"
        )


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate the client's errors.

    Raises:
        IndexUnavailable: The server is away, overloaded, refuses the key or lost a collection.
        ValueError: The request was invalid.
    """
    try:
        yield
    except grpc.aio.AioRpcError as error:
        text = f"{error.code().name}: {error.details()}"
        if error.code() in INVALID:
            raise ValueError(f"Qdrant: {text}") from error
        advice = "see qdrant.api_key" if error.code() in REFUSED else "the call will be repeated"
        raise IndexUnavailable(
            f"the vector index on Qdrant does not answer ({text}); {advice}"
        ) from error
    except ResourceExhaustedResponse as error:
        raise IndexUnavailable(
            f"the vector index on Qdrant is overloaded ({error}); the call will be repeated"
        ) from error
    except (ValueError, KeyError) as error:
        if "not found" not in str(error):
            raise
        raise IndexUnavailable(
            f"the vector index on Qdrant has lost a collection ({error}); it will be rebuilt"
        ) from error
