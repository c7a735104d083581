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
from cachetools import LRUCache

from propagation.v1 import propagation_pb2_grpc as pb_grpc
from propagation_client import CallFailed, Credentials, PropagationClient
from services.security.networks import name_network
from services.web.access.anonymous import AnonymousAccess
from services.web.access.connection import CALL_SECONDS, Connection
from services.web.access.feed import Snapshot
from services.web.access.sign_in_slots import SignInSlots

IDLE_SECONDS = 12 * 3_600.0
MAX_SESSIONS = 50
MAX_TOKEN_CHARS = 512
MAX_KNOWN = 1_000
SIGNED = "."  # between the two parts of a signed session


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

    def get_snapshot(self) -> Snapshot:
        """Return the newest live state; an empty one without a running feed."""
        return self.connection.feed.find_snapshot() or Snapshot()


@dataclass
class Sessions:
    """All sessions of this process.

    Each token has at most MAX_SESSIONS, so nobody can end the sessions of another token. A visitor
    without a token has a signed cookie only. It is kept here from the visitor's first form on,
    because what a form did is told by the next page.

    Args:
        address: HOST:PORT of the service.
        credentials: How TLS verifies the service; its token is not used.
        token_needed: Whether a visitor must sign in even if the service needs no token.
        service_has_tokens: Whether the service is known to have tokens; else it is asked.
        clock: Seconds that never go back.
    """

    address: str
    credentials: Credentials
    token_needed: bool
    service_has_tokens: bool = False
    clock: Callable[[], float] = time.monotonic
    anonymous: AnonymousAccess = field(init=False)
    _visitors: "OrderedDict[str, tuple[float, Visitor]]" = field(default_factory=OrderedDict)
    _connections: dict[str, Connection] = field(default_factory=dict)
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _slots: SignInSlots = field(default_factory=SignInSlots)
    _known: "LRUCache[str, bool]" = field(default_factory=lambda: LRUCache(MAX_KNOWN))

    def __post_init__(self) -> None:
        self.anonymous = AnonymousAccess(
            self.address, self.credentials, self.service_has_tokens, self.clock
        )

    async def find(self, session: str, *, keep: bool = False) -> Visitor | None:
        """Return the visitor of a session, and renew it.

        None if there is none, it was idle for IDLE_SECONDS, or the service now wants a token.

        Args:
            keep: Whether the session of a visitor without a token is kept, for what a form did.

        Raises:
            CallFailed: The service did not answer whether it wants a token.
        """
        await self.end_idle()
        visitor = self._visitors[session][1] if session in self._visitors else None
        if visitor is None and self._is_signed(session):
            visitor = await self._open_without_token(session)
        if visitor is not None and (keep or session in self._visitors):
            await self._keep(visitor)
        return visitor

    def look_up(self, session: str) -> Visitor | None:
        """Return the visitor of a session, which this does not renew."""
        found = self._visitors.get(session)
        if found is not None:
            return None if self._is_idle(found[0]) else found[1]
        connection = self.anonymous.look_up() if self._is_signed(session) else None
        return self._make_visitor(session, connection) if connection is not None else None

    async def end_idle(self) -> None:
        """End the sessions that were idle for IDLE_SECONDS."""
        while self._visitors:
            session, (used, _) = next(iter(self._visitors.items()))  # the one used longest ago
            if not self._is_idle(used):
                return
            await self.sign_out(session)

    async def sign_in(self, token: str, host: str = "") -> Visitor:
        """Open a session for a token.

        Args:
            host: The browser's address. A token that signed in before is tried at once; others of
                the address wait for a place.

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
        if audience in self._known:
            return await self._open_session(token, audience)
        async with self._slots.take(name_network(host) or host):
            return await self._open_session(token, audience)

    async def visit_without_token(self) -> Visitor | None:
        """Return a visitor without a token, with a new signed session.

        None if it needs one.

        Raises:
            CallFailed: The service did not answer.
        """
        nonce = secrets.token_urlsafe(32)
        return await self._open_without_token(f"{nonce}{SIGNED}{self._sign(nonce)}")

    async def sign_out(self, session: str) -> None:
        """End a session."""
        found = self._visitors.pop(session, None)
        if found is not None and found[1].has_token:
            await self._release(found[1].connection)

    async def end_refused(self, visitor: Visitor) -> None:
        """End the session of a visitor whom the service no longer knows."""
        if not visitor.has_token:
            self.anonymous.forget()
        await self.sign_out(visitor.session)

    async def end_streams(self) -> None:
        """Let all live views end by themselves, before the server stops."""
        await asyncio.gather(
            self.anonymous.end_streams(),
            *(one.feed.end_streams() for one in self._connections.values()),
        )

    async def close(self) -> None:
        """Close all connections."""
        connections = list(self._connections.values())
        self._connections.clear()
        self._visitors.clear()
        await self.anonymous.close()
        for connection in connections:
            await connection.close()

    def _is_idle(self, used: float) -> bool:
        return used < self.clock() - IDLE_SECONDS

    async def _open_session(self, token: str, audience: str) -> Visitor:
        """Open a session if the service accepts the token.

        Raises as `sign_in` does.
        """
        connection = self._connect(token, audience)
        # Counted before the first wait, so that another visitor's leaving does not close it.
        connection.visitors += 1
        try:
            try:
                await check_token(connection)
            except SignInRefused:
                self._known.pop(audience, None)
                raise
            self._known[audience] = True
            if self.token_needed and await self.anonymous.find() is not None:
                raise SignInRefused(
                    "The service has no tokens, so this page would be open to everybody who reaches"
                    " it: set server.tokens, or serve the page on 127.0.0.1."
                )
        except BaseException:
            await self._release(connection)
            raise
        visitor = self._make_visitor(secrets.token_urlsafe(32), connection)
        await self._keep(visitor)
        return visitor

    def _sign(self, nonce: str) -> str:
        return hmac.new(self._secret, f"open {nonce}".encode(), hashlib.sha256).hexdigest()

    def _is_signed(self, session: str) -> bool:
        """Tell whether this process signed a session."""
        nonce, _, signature = session.rpartition(SIGNED)
        return hmac.compare_digest(self._sign(nonce).encode(), signature.encode())

    async def _open_without_token(self, session: str) -> Visitor | None:
        connection = None if self.token_needed else await self.anonymous.find()
        return None if connection is None else self._make_visitor(session, connection)

    def _make_visitor(self, session: str, connection: Connection) -> Visitor:
        key = hmac.new(self._secret, f"form {session}".encode(), hashlib.sha256).hexdigest()
        return Visitor(session, connection, key, connection is not self.anonymous.connection)

    async def _keep(self, visitor: Visitor) -> None:
        """Keep or renew a session; end the token's oldest ones."""
        self._visitors[visitor.session] = (self.clock(), visitor)
        self._visitors.move_to_end(visitor.session)
        same = [
            session
            for session, (_, other) in self._visitors.items()
            if other.connection is visitor.connection
        ]
        for session in same[:-MAX_SESSIONS]:
            await self.sign_out(session)

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
