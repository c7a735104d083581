"""Whether a call comes in, and as whom."""

from collections.abc import Iterable

from propagation.model.errors import PropagationError
from services.runtime.errors import NotAllowed
from services.security.callers import ALL_ROLES, OPEN, Caller, needed_role
from services.security.rate_limits import Limits
from services.security.reloaded_file import Watched
from services.security.tokens import Token, token_of

SCHEME = "bearer "
Metadata = Iterable[tuple[str, str | bytes]]
Tokens = Watched[dict[str, Token]]


class NotAuthenticated(PropagationError):
    """No token came with the call, or none that is known."""


class Door:
    """`tokens`: None where whoever reaches the service may do everything (loopback without tokens,
    or --insecure)."""

    def __init__(self, tokens: Tokens | None, limits: Limits) -> None:
        self._tokens = tokens
        self.limits = limits

    def look_again(self) -> None:
        """The tokens file was changed."""
        if self._tokens is not None:
            self._tokens.look_again()

    def admit(self, method: str, metadata: Metadata, peer: str) -> Caller:
        """Who calls. `method`: /package.Service/Rpc; `peer`: the caller's address. Raises
        NotAuthenticated, NotAllowed, TooMuch."""
        caller = self._caller(method, metadata, peer)
        self.limits.call(caller.name)
        return caller

    def admits_still(self, method: str, metadata: Metadata, peer: str) -> None:
        """Asked again while a stream goes on: tokens are taken back. Raises NotAuthenticated,
        NotAllowed."""
        self._caller(method, metadata, peer)

    def _caller(self, method: str, metadata: Metadata, peer: str) -> Caller:
        if self._tokens is None or method in OPEN:
            return Caller(ALL_ROLES if self._tokens is None else frozenset(), _host(peer))
        token = token_of(_given(metadata), self._tokens.now())
        if token is None:
            raise NotAuthenticated(
                "a known token is needed: send the metadata `authorization: Bearer TOKEN`"
            )
        caller = Caller.of_token(token.name, token.roles)
        role = needed_role(method)
        if role is not None and role not in caller.roles:
            raise NotAllowed(method.rpartition("/")[2], role.value)
        return caller


def _given(metadata: Metadata) -> str:
    for key, value in metadata:
        if key == "authorization" and isinstance(value, str) and value.lower().startswith(SCHEME):
            return value[len(SCHEME) :].strip()
    return ""


def _host(peer: str) -> str:
    """Of "ipv4:10.0.0.1:5000"."""
    return peer.rpartition(":")[0]
