"""Admission of calls.

A call needs a known token and its role, and stays within the rate limits.
"""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from cachetools import LRUCache

from propagation.errors import PropagationError
from services.config.settings import LimitSettings
from services.security.address import find_network
from services.security.reloaded_file import ReloadedFiles
from services.security.roles import ALL_ROLES, Caller, list_required_roles
from services.security.tokens import find_token, read_tokens

CLIENTS = 10_000  # buckets kept; the client that called least recently loses its bucket first


class RateLimited(PropagationError):
    """A client exceeded its share; it may ask again after `retry_seconds`."""

    def __init__(self, unit: str, retry_seconds: float) -> None:
        super().__init__(
            f"too many {unit} a second from one client; try again in {retry_seconds:.1f} s"
        )
        self.retry_seconds = round(retry_seconds, 3)


class TokenBuckets:
    """A token bucket for each client, of some seconds' allowance.

    Unused allowance is saved for `burst_seconds`. Rate None limits nothing.
    """

    def __init__(self, rate: float | None, unit: str, burst_seconds: float = 2.0) -> None:
        self.rate = rate
        self._unit = unit
        self._burst_seconds = burst_seconds
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(CLIENTS)

    def take(self, client: str, amount: float, longest_seconds: float = 0.0) -> float:
        """Take an amount from a client's bucket once it has it.

        A full bucket also gives more than it holds; it then has to fill up from below zero.

        Returns:
            Seconds until then, for which the caller is to wait.

        Raises:
            RateLimited: It would take longer than `longest_seconds`; nothing was taken.
        """
        if self.rate is None:
            return 0.0
        now, capacity = time.monotonic(), self.rate * self._burst_seconds
        saved, at = self._buckets.get(client, (capacity, now))
        level = min(saved + (now - at) * self.rate, capacity)
        wait = max(min(amount, capacity) - level, 0.0) / self.rate
        if wait > longest_seconds:
            raise RateLimited(self._unit, wait - longest_seconds)
        self._buckets[client] = (level - amount, now)
        return wait


SCHEME = "bearer "
# Wrong tokens from one address: ten at once, then one a second, each answered when its turn comes.
WRONG_PER_SECOND, WRONG_BURST_SECONDS, WRONG_LONGEST_SECONDS = 1.0, 10.0, 5.0
# Load balancers ask for health, and have no token.
METHODS_WITHOUT_TOKEN = frozenset({"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"})
Metadata = Iterable[tuple[str, str | bytes]]


class NotAuthenticated(PropagationError):
    """The call carries no token, an unknown or an expired one.

    Attributes:
        delay_seconds: How long its answer is held back.
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
        limits: Of calls and bytes.

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

        Refused tokens are slowed down by address, and known ones are not: a secret of 256 random
        bits cannot be guessed, so that nobody need be locked out for what others try.

        `method` is the full name, /package.Service/Call; `peer` is like "ipv4:10.0.0.1:5000".

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

        Streams call it again and again, to see whether they may go on.

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
