"""A caller's token and certificates, and the channel that presents them."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

TOKEN, TLS, CA, CERTIFICATE, KEY = (
    "PROPAGATION_TOKEN",
    "PROPAGATION_TLS",
    "PROPAGATION_TLS_CA",
    "PROPAGATION_TLS_CERTIFICATE",
    "PROPAGATION_TLS_KEY",
)
SOCKET_FILE = "unix:"
HOST = re.compile(r"[^\s/@]+")
CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    # The environment may name a proxy, which may be on another machine than the service.
    ("grpc.enable_http_proxy", 0),
    # To find a service soon after it comes back; by default the pauses grow to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)


@dataclass(frozen=True)
class Credentials:
    """A token, and how TLS verifies the two sides.

    The service's certificate is checked against the file `ca` or, without one, against the system's
    authorities. `certificate` and `key` are the caller's own, for mutual TLS. Any of the files, or
    `tls`, switches TLS on.
    """

    token: str = ""
    tls: bool = False
    ca: Path | str | None = None
    certificate: Path | str | None = None
    key: Path | str | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Credentials":
        """Read PROPAGATION_TOKEN, _TLS, _TLS_CA, _TLS_CERTIFICATE and _TLS_KEY.

        Raises:
            ValueError: A variable cannot be used.
        """
        ca, certificate, key = (environment.get(name) or None for name in (CA, CERTIFICATE, KEY))
        if (certificate is None) != (key is None):
            raise ValueError(f"{CERTIFICATE} and {KEY} belong together; set both")
        token = environment.get(TOKEN, "").strip()  # a token from a file ends in a newline
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise ValueError(
                f"{TOKEN} is not a token: it contains a space, a line break or a non-ASCII letter"
            )
        tls = environment.get(TLS, "").lower() in ("1", "true", "yes")
        return cls(token, tls, ca, certificate, key)

    @property
    def encrypted(self) -> bool:
        """Whether calls go over TLS."""
        return self.tls or any((self.ca, self.certificate, self.key))

    def channel(self, address: str, interceptors: Sequence[Any] = ()) -> grpc.aio.Channel:
        """Open a channel that sends the token with every call.

        Args:
            address: HOST:PORT, or unix:PATH of a socket file on this machine, which needs no TLS.

        Raises:
            ValueError: The address is malformed, or the token would cross a network unencrypted.
            OSError: A file is unreadable.
        """
        by_file = address.startswith(SOCKET_FILE)
        host, _, port = address.rpartition(":")
        if not by_file and not (
            HOST.fullmatch(host) and port.isdecimal() and 0 < int(port) <= 65_535
        ):
            raise ValueError(
                f"{address!r} is not an address; give HOST:PORT, such as 127.0.0.1:50051"
            )
        if self.token and not self.encrypted and not (by_file or _is_loopback(host)):
            raise ValueError(
                f"the token would cross the network to {address} in clear: name the authority of"
                f" the service's certificate (ca, or {CA}), or switch TLS on (tls, or {TLS}=1)"
            )
        if self.token:
            tokens = (kind(self.token) for kind in (_UnaryUnary, _UnaryStream, _StreamStream))
            interceptors = [*interceptors, *tokens]
        if self.encrypted and not by_file:
            in_grpc_order = (self.ca, self.key, self.certificate)
            files = (Path(file).read_bytes() if file else None for file in in_grpc_order)
            return grpc.aio.secure_channel(
                address,
                grpc.ssl_channel_credentials(*files),
                CHANNEL_OPTIONS,
                interceptors=interceptors,
            )
        return grpc.aio.insecure_channel(address, CHANNEL_OPTIONS, interceptors=interceptors)


def _is_loopback(host: str) -> bool:
    """Check whether a host is a loopback address, or the name localhost."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class _TokenInterceptor:
    """Adds the token to the metadata of a call.

    grpc needs a separate class for each kind of call.
    """

    def __init__(self, token: str) -> None:
        self._header = ("authorization", f"Bearer {token}")

    async def _send(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        metadata = grpc.aio.Metadata(*(client_call_details.metadata or ()), self._header)
        return await continuation(client_call_details._replace(metadata=metadata), request)


class _UnaryUnary(_TokenInterceptor, grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]  # generic in its stubs only
    intercept_unary_unary = _TokenInterceptor._send


class _UnaryStream(_TokenInterceptor, grpc.aio.UnaryStreamClientInterceptor):  # type: ignore[type-arg]
    intercept_unary_stream = _TokenInterceptor._send


class _StreamStream(_TokenInterceptor, grpc.aio.StreamStreamClientInterceptor):  # type: ignore[type-arg]
    intercept_stream_stream: Any = _TokenInterceptor._send
