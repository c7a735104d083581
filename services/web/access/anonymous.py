"""Access without a token: whether the service answers callers that send none."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import grpc

from propagation_client import CallFailed, Credentials, PropagationClient
from services.web.access.connection import CALL_SECONDS, Connection

REMEMBER_SECONDS = 60.0
REMEMBER_BUSY_SECONDS = 1.0


@dataclass
class AnonymousAccess:
    """The connection that sends no token, and whether the service answers it.

    The service is asked at most once in REMEMBER_SECONDS, because it counts a call without a token
    as a wrong token of this page.

    Args:
        address: HOST:PORT of the service.
        credentials: How TLS verifies the service; its token is not used.
        service_has_tokens: Whether the service is known to want tokens, so that it is never asked.
        clock: Seconds that never go back.
    """

    address: str
    credentials: Credentials
    service_has_tokens: bool
    clock: Callable[[], float] = time.monotonic
    connection: Connection | None = None
    _allowed: bool = False
    _ask_after: float = float("-inf")
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def find(self) -> Connection | None:
        """Return the connection, or None if the service wants a token.

        Raises:
            CallFailed: The service did not answer.
        """
        if self.service_has_tokens:
            return None
        async with self._asking:  # many visitors at once ask once
            if self.clock() >= self._ask_after:
                await self._ask()
        return self.look_up()

    def look_up(self) -> Connection | None:
        """Return the connection if the service accepts it."""
        return self.connection if self._allowed else None

    def forget(self) -> None:
        """Ask the service again before the next visitor."""
        self._allowed = False
        self._ask_after = float("-inf")

    async def end_streams(self) -> None:
        """Let the live views of visitors without a token end by themselves."""
        if self.connection is not None:
            await self.connection.feed.end_streams()

    async def close(self) -> None:
        """Close the connection."""
        self._allowed = False
        if self.connection is not None:
            await self.connection.close()

    async def _ask(self) -> None:
        if self.connection is None:
            client = PropagationClient(
                self.address,
                replace(self.credentials, token=""),
                timeout=CALL_SECONDS,
                retries=None,
            )
            self.connection = Connection("", client)
        remember = REMEMBER_SECONDS
        try:
            await self.connection.ask_roles()
            self._allowed = True
        except CallFailed as error:
            match error.code():
                case grpc.StatusCode.UNAUTHENTICATED | grpc.StatusCode.PERMISSION_DENIED:
                    self._allowed = False
                case grpc.StatusCode.RESOURCE_EXHAUSTED:
                    # Too many wrong tokens or calls: the last answer stays, which is no at first.
                    remember = REMEMBER_BUSY_SECONDS
                case _:
                    raise
        self._ask_after = self.clock() + remember
