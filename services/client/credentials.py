"""How a caller of the service shows who it is, from the environment: a token, and certificates."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from services.client.errors import UsageProblem
from services.security.address import is_loopback

TOKEN, TLS, CA, CERTIFICATE, KEY = (
    "PROPAGATION_TOKEN",
    "PROPAGATION_TLS",
    "PROPAGATION_TLS_CA",
    "PROPAGATION_TLS_CERTIFICATE",
    "PROPAGATION_TLS_KEY",
)


@dataclass(frozen=True)
class Access:
    """`tls`: the system's authorities unless `ca` names a file. `certificate` and `key`: of this
    caller, for mutual TLS."""

    token: str = ""
    tls: bool = False
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> "Access":
        """Raises UsageProblem."""
        ca, certificate, key = (
            Path(environment[name]) if environment.get(name) else None
            for name in (CA, CERTIFICATE, KEY)
        )
        if (certificate is None) != (key is None):
            raise UsageProblem(f"{CERTIFICATE} and {KEY} belong together; set both")
        tls = environment.get(TLS, "").lower() in ("1", "true", "yes") or any(
            (ca, certificate, key)
        )
        return cls(_token(environment.get(TOKEN, "")), tls, ca, certificate, key)

    def channel(self, address: str, options: Any) -> grpc.aio.Channel:
        """To HOST:PORT. Raises UsageProblem: a token never crosses a network in plain text."""
        host = address.rpartition(":")[0]
        shown: Any = (
            [show(self.token) for show in (_Unary, _Answers, _Both)] if self.token else None
        )
        if self.tls:
            return grpc.aio.secure_channel(
                address, self._credentials(), options=options, interceptors=shown
            )
        if self.token and not is_loopback(host):
            raise UsageProblem(
                f"{TOKEN} is set, and {address} is on another machine: set {CA} (or {TLS}=1) too, so that nobody"
                " reads the token on its way"
            )
        return grpc.aio.insecure_channel(address, options=options, interceptors=shown)

    def _credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(
            *(_read(path) for path in (self.ca, self.key, self.certificate))
        )


def _token(given: str) -> str:
    """Without the newline of the file that it was read from. Raises UsageProblem where it cannot be
    sent."""
    token = given.strip()
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageProblem(
            f"{TOKEN} is no token: it has a space, a line break or a letter that none has"
        )
    return token


class _Unary(grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]  # generic in its stubs only
    def __init__(self, token: str) -> None:
        self._token = token

    async def intercept_unary_unary(
        self, continuation: Any, client_call_details: Any, request: Any
    ) -> Any:
        return await continuation(_with_token(client_call_details, self._token), request)


class _Answers(grpc.aio.UnaryStreamClientInterceptor):  # type: ignore[type-arg]
    def __init__(self, token: str) -> None:
        self._token = token

    async def intercept_unary_stream(
        self, continuation: Any, client_call_details: Any, request: Any
    ) -> Any:
        return await continuation(_with_token(client_call_details, self._token), request)


class _Both(grpc.aio.StreamStreamClientInterceptor):  # type: ignore[type-arg]
    def __init__(self, token: str) -> None:
        self._token = token

    async def intercept_stream_stream(
        self, continuation: Any, client_call_details: Any, request_iterator: Any
    ) -> Any:
        return await continuation(_with_token(client_call_details, self._token), request_iterator)


def _with_token(details: Any, token: str) -> Any:
    return details._replace(
        metadata=grpc.aio.Metadata(*(details.metadata or ()), ("authorization", f"Bearer {token}"))
    )


def _read(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageProblem(f"{path}: {error.strerror}; name a readable PEM file") from error
