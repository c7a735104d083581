"""Limits of connections: their number by address, and their seconds."""

import asyncio
import time
from collections.abc import Callable

import h11
import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol

from services.security.networks import name_network

HEADER_SECONDS = 10.0
BODY_SECONDS = 30.0
MAX_CONNECTIONS_OF_ADDRESS = 64
LOG_SECONDS = 60.0
log = structlog.get_logger()


class RefusalLog:
    """Logs refused connections: one line in LOG_SECONDS, with their number."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refused = 0
        self._log_after = float("-inf")

    def note(self, reason: str) -> None:
        """Count a refused connection, and log it now and then."""
        self._refused += 1
        if self._clock() >= self._log_after:
            log.warning("the page refused connections", number=self._refused, last=reason)
            self._refused = 0
            self._log_after = self._clock() + LOG_SECONDS


REFUSALS = RefusalLog()


class LimitedProtocol(H11Protocol):
    """HTTP/1.1, which closes connections that are too many or too slow.

    A request's headers must arrive within HEADER_SECONDS and its body within BODY_SECONDS; bytes
    that trickle in do not renew that. A connection that never sent a byte is closed in silence:
    browsers keep spare ones. An address, see name_network, has at most
    MAX_CONNECTIONS_OF_ADDRESS.
    """

    _awaited: tuple[object, object] | None = None
    _deadline: asyncio.TimerHandle | None = None
    _used = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        host = self._name_place()
        same = sum(
            isinstance(other, LimitedProtocol) and other._name_place() == host
            for other in self.connections
        )
        if same > MAX_CONNECTIONS_OF_ADDRESS:
            self._refuse(f"more than {MAX_CONNECTIONS_OF_ADDRESS} at once from one address")
            return
        self._set_deadline()

    def data_received(self, data: bytes) -> None:
        self._used = True
        super().data_received(data)
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_deadline()
        super().connection_lost(exc)

    def _name_place(self) -> str:
        host = self.client[0] if self.client else ""
        return name_network(host) or host

    def _set_deadline(self) -> None:
        """Start the time limit of what is awaited now."""
        state = self.conn.their_state
        awaited = (state, self.cycle)
        if awaited == self._awaited:
            return
        self._clear_deadline()
        seconds = {h11.IDLE: HEADER_SECONDS, h11.SEND_BODY: BODY_SECONDS}.get(state)
        if seconds is not None and not self.transport.is_closing():
            self._awaited = awaited
            part = "headers" if state is h11.IDLE else "body"
            self._deadline = self.loop.call_later(
                seconds, self._give_up, f"a request's {part} did not arrive in {seconds:g} s"
            )

    def _clear_deadline(self) -> None:
        self._awaited = None
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self, reason: str) -> None:
        if self._used:
            self._refuse(reason)
        else:
            self.transport.abort()

    def _refuse(self, reason: str) -> None:
        REFUSALS.note(reason)
        self.transport.abort()
