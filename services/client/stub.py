"""The command line's client, with errors that say what to do."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

import grpc

from propagation.model import PropagationError
from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from propagation_client import (
    CallFailed,
    Credentials,
    PropagationClient,
    Unreachable,
    pages,
)
from services.client import errors

Stub: TypeAlias = "pb_grpc.PropagationServiceAsyncStub"  # known to the type checker only

PAGE_SIZE = 1_000
NO_CREDENTIALS = Credentials()


def build_credentials(environment: Mapping[str, str]) -> Credentials:
    """Read the caller's credentials from the environment. Raises UsageProblem."""
    try:
        return Credentials.from_environment(environment)
    except ValueError as error:
        raise errors.UsageProblem(str(error)) from error


@asynccontextmanager
async def open_client(
    address: str, credentials: Credentials = NO_CREDENTIALS
) -> AsyncIterator[PropagationClient]:
    """Open a client without retries and without deadlines.

    A person is to see at once that no service runs, and can end a long call with Ctrl-C.

    Raises:
        UsageProblem: The address or the credentials cannot be used.
        Unreachable, Refused: A call inside the block failed.
    """
    try:
        client = PropagationClient(address, credentials, timeout=None, retries=None)
    except OSError as error:
        raise errors.UsageProblem(
            f"{error.filename}: {error.strerror}; name a readable PEM file"
        ) from error
    except ValueError as error:
        raise errors.UsageProblem(str(error)) from error
    async with client:
        try:
            yield client
        except CallFailed as error:
            raise explain_failure(error, address) from error


@asynccontextmanager
async def connect(address: str, credentials: Credentials = NO_CREDENTIALS) -> AsyncIterator[Stub]:
    """Open a client, and yield its stub. See `open_client`."""
    async with open_client(address, credentials) as client:
        yield client.stub


async def wait_until_listening(
    address: str, seconds: float, announce: Callable[[str], None]
) -> None:
    """Wait until a service listens at an address, or `seconds` have passed.

    A service that was just started listens after some seconds, once Python has loaded it. Whether
    one listens in the end, the next call tells.

    Args:
        announce: Called with a sentence if it does not listen within a second.
    """
    async with open_client(address, build_credentials(os.environ)) as client:
        ready = asyncio.ensure_future(client.channel.channel_ready())
        try:
            done, _ = await asyncio.wait([ready], timeout=min(1.0, seconds))
            if not done:
                announce(
                    f"no service answers at {address} yet, which may have been started just now"
                )
                await asyncio.wait([ready], timeout=max(seconds - 1.0, 0.0))
        finally:
            ready.cancel()


def explain_failure(error: CallFailed, address: str) -> PropagationError:
    """Turn a failed call into an error that says what to do."""
    if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
        return errors.Unreachable(
            f"the service at {address} did not answer in time; see `propagation status`"
        )
    if isinstance(error, Unreachable):
        return errors.Unreachable(
            f"no service answers at {address}; start one with `propagation serve`,"
            " or name another with --address"
        )
    kind = errors.NotReady if error.reason == "STARTING" else errors.Refused
    return kind(str(error))


async def list_routers(
    stub: Stub, bank: "pb.Bank.ValueType", as_of: pb.AsOf | None = None
) -> list[pb.Router]:
    """Fetch all routers of a bank, page after page."""
    request = pb.ListRoutersRequest(bank=bank, page_size=PAGE_SIZE, as_of=as_of)
    return [router async for page in pages(stub.ListRouters, request) for router in page.routers]
