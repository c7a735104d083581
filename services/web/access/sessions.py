"""Sessions of visitors.

A cookie names the session, and the session holds the visitor's token. A token is in this process's
memory only. Cookies, addresses and logs never contain one.
"""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import grpc

from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from propagation_client import CallFailed, Credentials, PropagationClient

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
        client: The connection to the service, which sends the visitor's token.
        roles: The roles that the service gives the token, included ones too.
        audience: Equal for visitors with the same token: they see the same.
        forgery_key: Must come back with each form, because other sites cannot know it.
        has_token: Whether the visitor signed in with a token.
        notices: Sentences that the visitor's next page shows, such as what a form did.
    """

    session: str
    client: PropagationClient
    roles: frozenset[str]
    audience: str
    forgery_key: str
    has_token: bool
    notices: list[str] = field(default_factory=list, compare=False)

    @property
    def stub(self) -> "pb_grpc.PropagationServiceAsyncStub":
        """Every call of the proto, with the visitor's token."""
        return self.client.stub

    def may(self, role: str) -> bool:
        """Tell whether the token has a role."""
        return role in self.roles


@dataclass
class _Connection:
    """The connection of all visitors with one token."""

    client: PropagationClient
    visitors: int = 0


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
    _connections: dict[str, _Connection] = field(default_factory=dict)
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def find(self, session: str) -> Visitor | None:
        """Return the visitor of a session.

        None if there is none, or it was idle for IDLE_SECONDS.
        """
        found = self._visitors.get(session)
        if found is None or found[0] < self.clock() - IDLE_SECONDS:
            return None
        self._visitors[session] = (self.clock(), found[1])
        self._visitors.move_to_end(session)
        return found[1]

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
            roles = await read_roles(connection.client)
            if token and self.token_needed and await self._accepts_anybody():
                raise SignInRefused(
                    "The service has no tokens, so this page would be open to everybody who reaches"
                    " it: set server.tokens, or serve the page on 127.0.0.1."
                )
            await self._drop_oldest()
        except BaseException:
            await self._release(audience)
            raise
        session = secrets.token_urlsafe(32)
        key = hmac.new(self._secret, f"form {session}".encode(), hashlib.sha256).hexdigest()
        visitor = Visitor(session, connection.client, roles, audience, key, bool(token))
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
            await self._release(found[1].audience)

    def update_roles(self, visitor: Visitor, roles: Iterable[str]) -> Visitor:
        """Note the roles that the service now gives the visitor's token."""
        found = self._visitors.get(visitor.session)
        changed = replace(visitor, roles=frozenset(roles))
        if changed == visitor or found is None:
            return visitor
        self._visitors[visitor.session] = (found[0], changed)
        return changed

    async def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            await connection.client.close()
        self._connections.clear()
        self._visitors.clear()

    def _connect(self, token: str, audience: str) -> _Connection:
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
            self._connections[audience] = _Connection(client)
        return self._connections[audience]

    async def _release(self, audience: str) -> None:
        """Count one visitor less, and close the connection after the last."""
        connection = self._connections.get(audience)
        if connection is None:  # all were closed
            return
        connection.visitors -= 1
        if not connection.visitors:
            del self._connections[audience]
            await connection.client.close()

    async def _drop_oldest(self) -> None:
        while len(self._visitors) >= MAX_SESSIONS:
            await self.sign_out(next(iter(self._visitors)))

    async def _accepts_anybody(self) -> bool:
        anybody = PropagationClient(
            self.address, replace(self.credentials, token=""), timeout=CALL_SECONDS, retries=None
        )
        async with anybody:
            try:
                await read_roles(anybody)
            except SignInRefused:
                return False
        return True


async def read_roles(client: PropagationClient) -> frozenset[str]:
    """Ask the service for the roles of a client's token.

    Raises:
        SignInRefused: The token is not known, has expired, or may not read.
        CallFailed: The service did not answer.
    """
    try:
        status = await client.stub.GetStatus(pb.GetStatusRequest())
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
    return frozenset(status.caller_roles)
