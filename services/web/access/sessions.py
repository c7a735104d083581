"""Sessions of visitors.

A cookie names the session, and the session holds the visitor's token. A token is in this process's
memory only. Cookies, addresses and logs never contain one.
"""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import grpc

from propagation.v1 import propagation_pb2_grpc as pb_grpc
from propagation_client import CallFailed, Credentials, PropagationClient
from services.web.access.connection import Connection
from services.web.access.feed import Snapshot

IDLE_SECONDS = 12 * 3_600.0
MAX_SESSIONS = 1_000
CALL_SECONDS = 10.0
MAX_TOKEN_CHARS = 512


class SignInRefused(Exception):
    """The service does not let this token read. The text says why."""


@dataclass(frozen=True)
class Visitor:
    """A signed-in visitor.

    Attributes:
        session: The session's name, which is the cookie's value.
        connection: What the visitor shares with others of the same token.
        forgery_key: Must come back with each form, because other sites cannot know it.
        has_token: Whether the visitor signed in with a token.
        notices: Sentences that the visitor's next page shows, such as what a form did.
    """

    session: str
    connection: Connection
    forgery_key: str
    has_token: bool
    notices: list[str] = field(default_factory=list, compare=False)

    @property
    def client(self) -> PropagationClient:
        """The connection to the service, which sends the visitor's token."""
        return self.connection.client

    @property
    def stub(self) -> "pb_grpc.PropagationServiceAsyncStub":
        """Every call of the proto, with the visitor's token."""
        return self.client.stub

    def may(self, role: str) -> bool:
        """Tell whether the service last gave the token a role."""
        return role in self.connection.roles

    def find_snapshot(self) -> Snapshot | None:
        """Return the newest live state, if the token's feed runs."""
        return self.connection.feed.find_snapshot()


@dataclass
class Sessions:
    """All sessions of this process.

    Args:
        address: HOST:PORT of the service.
        credentials: How TLS verifies the service; its token is not used.
        token_needed: Whether a visitor must sign in even if the service needs no token.
        clock: Seconds that never go back.
    """

    address: str
    credentials: Credentials
    token_needed: bool
    clock: Callable[[], float] = time.monotonic
    _visitors: "OrderedDict[str, tuple[float, Visitor]]" = field(default_factory=OrderedDict)
    _connections: dict[str, Connection] = field(default_factory=dict)
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    async def find(self, session: str) -> Visitor | None:
        """Return the visitor of a session, and renew it.

        None if there is none, or it was idle for IDLE_SECONDS.
        """
        await self.end_idle()
        visitor = self.look_up(session)
        if visitor is not None:
            self._visitors[session] = (self.clock(), visitor)
            self._visitors.move_to_end(session)
        return visitor

    def look_up(self, session: str) -> Visitor | None:
        """Return the visitor of a session, which this does not renew."""
        found = self._visitors.get(session)
        return None if found is None or self._is_idle(found[0]) else found[1]

    async def end_idle(self) -> None:
        """End the sessions that were idle for IDLE_SECONDS."""
        while self._visitors:
            session, (used, _) = next(iter(self._visitors.items()))  # the one used longest ago
            if not self._is_idle(used):
                return
            await self.sign_out(session)

    def _is_idle(self, used: float) -> bool:
        return used < self.clock() - IDLE_SECONDS

    async def sign_in(self, token: str) -> Visitor:
        """Open a session for a token.

        An empty token stands for a service without tokens.

        Raises:
            SignInRefused: The token is malformed or unknown, or may not read.
            CallFailed: The service did not answer.
        """
        if len(token) > MAX_TOKEN_CHARS or not (token.isascii() and token.isprintable()):
            raise SignInRefused(
                "This is no token: it is too long, or has other letters than ASCII."
            )
        if " " in token:
            raise SignInRefused("This is no token: it contains a space.")
        audience = hmac.new(self._secret, token.encode(), hashlib.sha256).hexdigest()
        connection = self._connect(token, audience)
        # Counted before the first wait, so that another visitor's leaving does not close it.
        connection.visitors += 1
        try:
            await check_token(connection)
            if token and self.token_needed and await self._accepts_anybody():
                raise SignInRefused(
                    "The service has no tokens, so this page would be open to everybody who reaches"
                    " it: set server.tokens, or serve the page on 127.0.0.1."
                )
            await self._drop_oldest()
        except BaseException:
            await self._release(connection)
            raise
        session = secrets.token_urlsafe(32)
        key = hmac.new(self._secret, f"form {session}".encode(), hashlib.sha256).hexdigest()
        visitor = Visitor(session, connection, key, bool(token))
        self._visitors[session] = (self.clock(), visitor)
        return visitor

    async def sign_in_without_token(self) -> Visitor | None:
        """Open a session at a service that needs no token.

        None if it needs one.

        Raises:
            CallFailed: The service did not answer.
        """
        if self.token_needed:
            return None
        try:
            return await self.sign_in("")
        except SignInRefused:
            return None

    async def sign_out(self, session: str) -> None:
        """End a session."""
        found = self._visitors.pop(session, None)
        if found is not None:
            await self._release(found[1].connection)

    async def end_streams(self) -> None:
        """Let all live views end by themselves, before the server stops."""
        await asyncio.gather(*(one.feed.end_streams() for one in self._connections.values()))

    async def close(self) -> None:
        """Close all connections."""
        connections = list(self._connections.values())
        self._connections.clear()
        self._visitors.clear()
        for connection in connections:
            await connection.close()

    def _connect(self, token: str, audience: str) -> Connection:
        if audience not in self._connections:
            try:
                client = PropagationClient(
                    self.address,
                    replace(self.credentials, token=token),
                    timeout=CALL_SECONDS,
                    retries=None,
                )
            except ValueError as error:
                raise SignInRefused(f"The page cannot send a token: {error}.") from error
            self._connections[audience] = Connection(audience, client)
        return self._connections[audience]

    async def _release(self, connection: Connection) -> None:
        """Count one visitor less, and close the connection after the last."""
        connection.visitors -= 1
        if not connection.visitors and self._connections.get(connection.audience) is connection:
            del self._connections[connection.audience]
            await connection.close()

    async def _drop_oldest(self) -> None:
        while len(self._visitors) >= MAX_SESSIONS:
            await self.sign_out(next(iter(self._visitors)))

    async def _accepts_anybody(self) -> bool:
        client = PropagationClient(
            self.address, replace(self.credentials, token=""), timeout=CALL_SECONDS, retries=None
        )
        anybody = Connection("", client)
        try:
            await check_token(anybody)
        except SignInRefused:
            return False
        finally:
            await anybody.close()
        return True


async def check_token(connection: Connection) -> None:
    """Ask the service for the roles of a connection's token.

    Raises:
        SignInRefused: The token is not known, has expired, or may not read.
        CallFailed: The service did not answer.
    """
    try:
        await connection.ask_roles()
    except CallFailed as error:
        if error.code() == grpc.StatusCode.UNAUTHENTICATED:
            raise SignInRefused(
                "The service does not know this token, or it has expired. Ask for a new one:"
                " `propagation token new`."
            ) from error
        if error.code() == grpc.StatusCode.PERMISSION_DENIED:
            raise SignInRefused(
                "This token may not read. The page needs a token with the role read, persons,"
                " analyst or admin."
            ) from error
        raise
