"""Admission of calls.

A call needs a known token with the right role, and must stay within the rate limits.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from propagation.errors import PropagationError
from services.config.settings import LimitSettings
from services.security.address import find_network
from services.security.rate_limits import TokenBuckets
from services.security.reloaded_file import ReloadedFiles
from services.security.roles import ALL_ROLES, Caller, list_required_roles
from services.security.tokens import find_token, read_tokens

SCHEME = "bearer "
# Of wrong tokens from one address, ten are answered at once, then one a second.
WRONG_PER_SECOND, WRONG_BURST_SECONDS, WRONG_LONGEST_SECONDS = 1.0, 10.0, 5.0
# Load balancers ask for health, and have no token.
METHODS_WITHOUT_TOKEN = frozenset({"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"})
Metadata = Iterable[tuple[str, str | bytes]]


class NotAuthenticated(PropagationError):
    """The call carries no token, an unknown or an expired one.

    Attributes:
        delay_seconds: How long the answer is held back.
    """

    delay_seconds = 0.0


def find_delay(error: Exception) -> float:
    """Return the seconds for which a refusal is held back."""
    return error.delay_seconds if isinstance(error, NotAuthenticated) else 0.0


class Admission:
    """Decides whether a call may run, and as which caller.

    The interceptor counts the bytes of messages in `bytes`.

    Args:
        tokens: The tokens file. Without one (on loopback, or with --insecure) every caller has all
            roles.
        limits: Limits of calls and bytes a second.

    Raises:
        BrokenTokens: The file cannot be used.
    """

    def __init__(self, tokens: Path | None, limits: LimitSettings) -> None:
        self._tokens = ReloadedFiles((tokens,), lambda: read_tokens(tokens)) if tokens else None
        self._calls = TokenBuckets(limits.calls_per_second, "calls")
        self._wrong = TokenBuckets(WRONG_PER_SECOND, "wrong tokens", WRONG_BURST_SECONDS)
        self.bytes = TokenBuckets(limits.bytes_per_second, "bytes")

    def reload_tokens(self) -> None:
        """Read the tokens file again now."""
        if self._tokens is not None:
            self._tokens.reload()

    def admit(self, method: str, metadata: Metadata, peer: str) -> Caller:
        """Identify the caller and count the call.

        Calls with a wrong token are delayed, and counted by address. Calls with a valid token are
        never delayed: nobody can guess a secret of 256 random bits, so an address need not be
        locked out.

        Args:
            method: The full name, /package.Service/Call.
            peer: The caller's address, such as "ipv4:10.0.0.1:5000".

        Raises:
            NotAuthenticated, NotAllowed, RateLimited: The call must not run.
        """
        try:
            caller = self.identify(method, metadata, peer)
        except NotAuthenticated as error:
            error.delay_seconds = self._wrong.take(find_network(peer), 1, WRONG_LONGEST_SECONDS)
            raise
        self._calls.take(caller.name, 1)
        return caller

    def identify(self, method: str, metadata: Metadata, peer: str) -> Caller:
        """Identify the caller without counting a call.

        The interceptor calls this again and again during a stream, to see whether it may go on.

        Raises:
            NotAuthenticated, NotAllowed: The call must not run.
        """
        if self._tokens is None or method in METHODS_WITHOUT_TOKEN:
            return Caller(
                ALL_ROLES if self._tokens is None else frozenset(), name=find_network(peer)
            )
        token = find_token(_read_bearer_token(metadata), self._tokens.current())
        if token is None:
            raise NotAuthenticated(
                "a known token is needed: send the metadata `authorization: Bearer TOKEN`"
            )
        if token.expires is not None and token.expires <= datetime.now(UTC):
            raise NotAuthenticated(
                f"the token {token.name!r} expired at {token.expires.isoformat()}; use a new one"
            )
        caller = Caller.of_token(token.name, token.roles)
        if required := list_required_roles(method):
            caller.require(method.rpartition("/")[2], *required)
        return caller


def _read_bearer_token(metadata: Metadata) -> str:
    for key, value in metadata:
        if key == "authorization" and isinstance(value, str) and value.lower().startswith(SCHEME):
            return value[len(SCHEME) :].strip()
    return ""
