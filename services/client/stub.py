"""A gRPC client of the service: a stub whose failures are sentences."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

import grpc

from propagation.model.errors import PropagationError
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from services.client.credentials import Access
from services.client.errors import Refused, Unreachable, UsageProblem

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

DETAILS_KEY = "grpc-status-details-bin"
OPENLY = Access()
OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.enable_http_proxy", 0))


@asynccontextmanager
async def connected(
    address: str, access: Access = OPENLY
) -> "AsyncIterator[PropagationServiceAsyncStub]":
    """A stub for HOST:PORT that shows `access` with every call; a call that fails inside raises
    Unreachable or Refused."""
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdecimal()):
        raise UsageProblem(f"--address is {address!r}; give HOST:PORT, for example 127.0.0.1:50051")
    async with access.channel(address, OPTIONS) as channel:
        try:
            yield pb_grpc.PropagationServiceStub(channel)
        except grpc.aio.AioRpcError as error:
            raise failure_of(error, address) from error


def failure_of(error: grpc.aio.AioRpcError, address: str) -> PropagationError:
    """What the service itself said has rich details; UNAVAILABLE without them is the connection."""
    said_by_service = DETAILS_KEY in dict(
        cast(Iterable[tuple[str, str | bytes]], error.trailing_metadata() or ())
    )
    if error.code() == grpc.StatusCode.UNAVAILABLE and not said_by_service:
        return Unreachable(
            f"no service answers at {address}; start one with `propagation serve`, or name another with --address"
        )
    if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
        return Unreachable(
            f"the service at {address} did not answer in time; see `propagation status`"
        )
    return Refused(error.details() or error.code().name)
