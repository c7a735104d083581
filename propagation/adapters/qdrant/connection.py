"""A client of the server, and its failures as ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import grpc
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

from propagation.model.errors import IncompatibleSettings, IndexUnavailable

OLDEST = (1, 16)
"""The first release whose upserts take a filter: an older one would let a late write undo a newer
one, silently."""
RECONNECTING = {"grpc.initial_reconnect_backoff_ms": 250, "grpc.max_reconnect_backoff_ms": 2_000}
"""gRPC itself would wait up to two minutes before it tries a server again that was away for long.
"""
WRONG = frozenset({grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.ALREADY_EXISTS})
REFUSED = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})


def connect(url: str, grpc_port: int, api_key: str | None, seconds: float) -> AsyncQdrantClient:
    """Not connected before the first call; connects again by itself, some two seconds after the
    server is back. `seconds`: the longest a call may take. The server's version is asked over gRPC
    (`check_version`), not by the client's own thread over HTTP."""
    return AsyncQdrantClient(
        url=url,
        grpc_port=grpc_port,
        prefer_grpc=True,
        api_key=api_key,
        timeout=max(round(seconds), 1),
        check_compatibility=False,
        grpc_options=dict(RECONNECTING),
    )


def plain_secret(url: str, api_key: str | None) -> bool:
    """Whether the key would cross a network that anybody can read."""
    return (
        api_key is not None
        and urlsplit(url).scheme != "https"
        and urlsplit(url).hostname not in ("localhost", "127.0.0.1")
    )


async def check_version(client: AsyncQdrantClient) -> None:
    """Raises IncompatibleSettings on a server that is too old."""
    version = (await client.info()).version
    if tuple(int(part) for part in version.split("-")[0].split(".")[:2]) < OLDEST:
        raise IncompatibleSettings(
            f"qdrant.url: the server is Qdrant {version}; at least {OLDEST[0]}.{OLDEST[1]} is needed, which"
            " writes a point only where it is newer"
        )


@contextmanager
def translated() -> Iterator[None]:
    """Raises IndexUnavailable for what time or an operator mends, ValueError for what was asked
    wrongly."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        text = f"{error.code().name}: {error.details()}"
        if error.code() in WRONG:
            raise ValueError(f"Qdrant: {text}") from error
        advice = "see qdrant.api_key" if error.code() in REFUSED else "it is asked again"
        raise IndexUnavailable(
            f"the vector index on Qdrant does not answer ({text}); {advice}"
        ) from error
    except ResourceExhaustedResponse as error:
        raise IndexUnavailable(
            f"the vector index on Qdrant is overloaded ({error}); it is asked again"
        ) from error
    except (ValueError, KeyError) as error:
        if "not found" not in str(error):
            raise
        raise IndexUnavailable(
            f"the vector index on Qdrant has lost a collection ({error}); it is made again"
        ) from error
