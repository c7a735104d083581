"""Calls of commands to a service: connect and ask."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from propagation.v1 import propagation_pb2 as pb
from services.client.errors import UsageProblem

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

T = TypeVar("T")


def ask(
    address: str, call: "Callable[[PropagationServiceAsyncStub], Awaitable[T]]", goes_on: str = ""
) -> T:
    """Run `call` with a stub of the service.

    Args:
        goes_on: The message at Ctrl-C about work that the service does not break off.

    Raises:
        Unreachable: There is no service.
        Refused: It refused the call.
    """
    from services.client.credentials import Credentials
    from services.client.stub import connect

    async def run() -> T:
        async with connect(address, Credentials.from_environment(os.environ)) as stub:
            return await call(stub)

    try:
        return asyncio.run(run())
    except KeyboardInterrupt:
        if goes_on:
            print("propagation:", goes_on, file=sys.stderr)
        raise


def client_key(kind: str, name: str) -> pb.ClientKey:
    """Return a key from what a person typed.

    Raises:
        UsageProblem: It is no key.
    """
    kinds = {"user": pb.CLIENT_KIND_USER, "item": pb.CLIENT_KIND_ITEM}
    if kind not in kinds:
        raise UsageProblem(f"{kind!r} is no kind of client; give user or item")
    return pb.ClientKey(kind=kinds[kind], id=name)


def split_key(text: str) -> pb.ClientKey:
    """Split user:ID or item:ID at the first colon.

    Raises:
        UsageProblem: It is no key.
    """
    kind, colon, name = text.partition(":")
    if not (colon and name):
        raise UsageProblem(f"{text!r} names no client; give user:ID or item:ID")
    return client_key(kind, name)


def kind_name(kind: int) -> str:
    """Return user or item."""
    return "user" if kind == pb.CLIENT_KIND_USER else "item"
