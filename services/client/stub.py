"""A gRPC stub of the service whose failures are sentences."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias, cast

import grpc

from propagation.model import PropagationError
from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from services.client.credentials import Credentials
from services.client.errors import Refused, Unreachable, UsageProblem

if TYPE_CHECKING:
    Stub: TypeAlias = pb_grpc.PropagationServiceAsyncStub
else:
    Stub = pb_grpc.PropagationServiceStub

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
    """Turn a failed call into an error with a sentence for the user.

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
    routers: list[pb.Router] = []
    request = pb.ListRoutersRequest(bank=bank, page_size=PAGE_SIZE, as_of=as_of)
    while True:
        page = await stub.ListRouters(request)
        routers += page.routers
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return routers
