"""A gRPC stub of the service, with credentials and readable failures.

Credentials are read from the environment: a token, and certificates for TLS.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import grpc

from propagation.adapters.shared.plain_secrets import is_loopback
from propagation.model import PropagationError
from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from services.client.errors import Refused, Unreachable, UsageProblem

Stub: TypeAlias = "pb_grpc.PropagationServiceAsyncStub"  # known to the type checker only

TOKEN, TLS, CA, CERTIFICATE, KEY = (
    "PROPAGATION_TOKEN",
    "PROPAGATION_TLS",
    "PROPAGATION_TLS_CA",
    "PROPAGATION_TLS_CERTIFICATE",
    "PROPAGATION_TLS_KEY",
)
CHANNEL_OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.enable_http_proxy", 0))


@dataclass(frozen=True)
class Credentials:
    """A token, and how TLS verifies the two sides.

    With `tls`, the service's certificate is checked against the file `ca`, or against the system's
    authorities without one. `certificate` and `key` are the caller's own, for mutual TLS.
    """

    token: str = ""
    tls: bool = False
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Credentials":
        """Read the PROPAGATION_ variables. Raises UsageProblem."""
        ca, certificate, key = (
            Path(environment[name]) if environment.get(name) else None
            for name in (CA, CERTIFICATE, KEY)
        )
        if (certificate is None) != (key is None):
            raise UsageProblem(f"{CERTIFICATE} and {KEY} belong together; set both")
        wants_tls = environment.get(TLS, "").lower() in ("1", "true", "yes")
        token = environment.get(TOKEN, "").strip()  # without the newline of its file
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise UsageProblem(
                f"{TOKEN} is not a token: it contains a space, a line break or a non-ASCII letter"
            )
        return cls(
            token=token,
            tls=wants_tls or any((ca, certificate, key)),
            ca=ca,
            certificate=certificate,
            key=key,
        )

    def channel(self, address: str) -> grpc.aio.Channel:
        """Open a channel to HOST:PORT that sends the token with every call.

        Raises:
            UsageProblem: The token would cross a network unencrypted, or a file is unreadable.
        """
        interceptors: Any = (
            [kind(self.token) for kind in (_UnaryUnary, _UnaryStream, _StreamStream)]
            if self.token
            else None
        )
        if self.tls:
            return grpc.aio.secure_channel(
                address, self._tls_credentials(), CHANNEL_OPTIONS, interceptors=interceptors
            )
        if self.token and not is_loopback(address.rpartition(":")[0]):
            raise UsageProblem(
                f"{TOKEN} is set and {address} is on another machine: set {CA} (or {TLS}=1) too,"
                " so that the token is encrypted on its way"
            )
        return grpc.aio.insecure_channel(address, CHANNEL_OPTIONS, interceptors=interceptors)

    def _tls_credentials(self) -> grpc.ChannelCredentials:
        try:
            return grpc.ssl_channel_credentials(
                *(
                    path.read_bytes() if path else None
                    for path in (self.ca, self.key, self.certificate)
                )
            )
        except OSError as error:
            raise UsageProblem(
                f"{error.filename}: {error.strerror}; name a readable PEM file"
            ) from error


class _TokenInterceptor:
    """Adds the token to the metadata of a call.

    grpc wants a class of its own for each kind of call.
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


STATUS_DETAILS_KEY = "grpc-status-details-bin"
PAGE_SIZE = 1_000
NO_CREDENTIALS = Credentials()


@asynccontextmanager
async def connect(address: str, credentials: Credentials = NO_CREDENTIALS) -> AsyncIterator[Stub]:
    """Open a stub for HOST:PORT that sends the credentials with every call.

    Raises:
        UsageProblem: The address or the credentials cannot be used.
        Unreachable, Refused: A call inside the block failed.
    """
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdecimal()):
        raise UsageProblem(f"--address is {address!r}; give HOST:PORT, for example 127.0.0.1:50051")
    async with credentials.channel(address) as channel:
        try:
            yield pb_grpc.PropagationServiceStub(channel)
        except grpc.aio.AioRpcError as error:
            raise explain_failure(error, address) from error


def explain_failure(error: grpc.aio.AioRpcError, address: str) -> PropagationError:
    """Turn a failed call into an error with a readable sentence.

    The service's own errors carry rich details; UNAVAILABLE without them is the connection's.
    """
    from_service = STATUS_DETAILS_KEY in dict(
        cast(Iterable[tuple[str, str | bytes]], error.trailing_metadata() or ())
    )
    if error.code() == grpc.StatusCode.UNAVAILABLE and not from_service:
        return Unreachable(
            f"no service answers at {address}; start one with `propagation serve`,"
            " or name another with --address"
        )
    if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
        return Unreachable(
            f"the service at {address} did not answer in time; see `propagation status`"
        )
    return Refused(error.details() or error.code().name)


async def list_routers(
    stub: Stub, bank: "pb.Bank.ValueType", as_of: pb.AsOf | None = None
) -> list[pb.Router]:
    """Fetch the routers of all pages."""
    pages = all_pages(
        stub.ListRouters, pb.ListRoutersRequest(bank=bank, page_size=PAGE_SIZE, as_of=as_of)
    )
    return [router async for page in pages for router in page.routers]


async def all_pages(call: Any, request: Any) -> AsyncIterator[Any]:
    """Make a call of the service for page after page, and yield its answers."""
    while True:
        page = await call(request)
        yield page
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return
