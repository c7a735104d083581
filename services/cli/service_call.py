"""Calls of commands to a service: connect, ask, print."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from propagation.v1 import propagation_pb2 as pb
from services.client.errors import UsageProblem
from services.runtime.console import print_json

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

T = TypeVar("T")
AnswerT = TypeVar("AnswerT", bound=Message)


def print_answer(answer: AnswerT, show: Callable[[AnswerT], None], *, json: bool) -> None:
    """Print an answer of the service: as one JSON document, or as `show` prints it for people."""
    if json:
        print_json(to_json_values(answer))
    else:
        show(answer)


def to_json_values(message: Message) -> Any:
    """Return a message as a dict of JSON values, with the proto's field names.

    Every field is in it: numbers as numbers, enums by name, times in ISO 8601, absent optional
    fields as null. Of a oneof only the field that is set is in it.
    """
    if isinstance(message, Timestamp):
        return message.ToJsonString()
    return {
        field.name: _value(message, field)
        for field in message.DESCRIPTOR.fields
        if not _other_of_oneof(message, field)
    }


def _other_of_oneof(message: Message, field: Any) -> bool:
    oneof = field.containing_oneof
    return (
        oneof is not None and len(oneof.fields) > 1 and message.WhichOneof(oneof.name) != field.name
    )


def _value(message: Message, field: Any) -> Any:
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict(value)
    if field.is_repeated:
        return [_one(field, element) for element in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _one(field, value)


def _one(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return to_json_values(value)
    return field.enum_type.values_by_number[value].name if field.enum_type is not None else value


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
