"""Validation of requests, page tokens, and conversion to the model's types.

Every refusal is an InvalidInput that names the field, the value's problem and the limit.
"""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeVar

import orjson
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from propagation.model import (
    ClientChange,
    ClientKey,
    InvalidInput,
    NewInteraction,
    check_id,
    check_list,
    check_metadata,
    check_negative,
    check_seconds,
    check_text,
    check_weight,
)
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.time_travel import TimeTravel
from services.grpc.convert import CLIENT_KINDS
from services.runtime.process import SystemClock

KINDS = {number: kind for kind, number in CLIENT_KINDS.items()}
LIMIT_MAX = 1_000
TOKEN_NUMBER = re.compile("-1|[0-9]{1,18}")
CLIENT_FIELDS: dict[str, Callable[[Any, str], object]] = {
    "title": check_text,
    "description": check_text,
    "attributes": check_list,
    "categories": check_list,
    "hidden": lambda value, _: bool(value),
    "metadata": check_metadata,
}
T = TypeVar("T")


def parse_choice(value: int, field: str, choices: Mapping[Any, T], names: str) -> T:
    """Translate an enum's value.

    Args:
        names: The allowed values, for the message.

    Raises:
        InvalidInput: The value is not among the choices.
    """
    if value not in choices:
        raise InvalidInput(field, f"is {value or 'unspecified'}; give {names}")
    return choices[value]


def parse_limit(request: Any, field: str, default: int, most: int = LIMIT_MAX) -> int:
    """Return an optional number of results, 1 to `most`. Raises InvalidInput."""
    limit: int = getattr(request, field) if request.HasField(field) else default
    if not 1 <= limit <= most:
        raise InvalidInput(field, f"is {limit}; give 1 to {most}, or leave it out for {default}")
    return limit


def check_count(values: Sequence[object], field: str, limit: int = 1_000) -> None:
    """Raise InvalidInput if a call carries too many values."""
    if len(values) > limit:
        raise InvalidInput(field, f"has {len(values)} entries; give at most {limit} a call")


def parse_key(key: pb.ClientKey, field: str) -> ClientKey:
    """Translate a client's key. Raises InvalidInput."""
    kind = parse_choice(key.kind, f"{field}.kind", KINDS, "CLIENT_KIND_USER or CLIENT_KIND_ITEM")
    return ClientKey(kind=kind, id=check_id(key.id, f"{field}.id"))


def parse_interaction(event: pb.Interaction, now_ms: int) -> NewInteraction:
    """Translate an event; one without a time gets `now_ms`. Raises InvalidInput."""
    event_id = check_id(event.event_id, "event_id")
    user, item = check_id(event.user_id, "user_id"), check_id(event.item_id, "item_id")
    negative = (
        check_id(event.negative_item_id, "negative_item_id")
        if event.HasField("negative_item_id")
        else None
    )
    check_negative(item, negative, "negative_item_id")
    weight = check_weight(event.weight, "weight") if event.HasField("weight") else 1.0
    time_ms = parse_time(event.time, "time") if event.HasField("time") else None
    metadata = check_metadata(event.metadata, "metadata") if event.metadata else {}
    content = orjson.dumps((user, item, negative, time_ms, weight, sorted(metadata.items())))
    return NewInteraction(
        event_id=event_id,
        user_id=user,
        item_id=item,
        negative_id=negative,
        time=now_ms if time_ms is None else time_ms,
        weight=weight,
        metadata=metadata,
        content_hash=blake2b(content, digest_size=12).hexdigest(),
    )


def parse_time(time: Timestamp, field: str) -> int:
    """Return a time in milliseconds since 1970. Raises InvalidInput."""
    check_seconds(time.seconds, field)
    if not 0 <= time.nanos < 1_000_000_000:
        raise InvalidInput(field, f"has {time.nanos} nanos; give 0 to 999,999,999")
    return time.seconds * 1000 + time.nanos // 1_000_000


def parse_field_mask(mask: FieldMask) -> frozenset[str] | None:
    """Return the fields of clients to write.

    Returns:
        None without a mask: of each client, the fields that are set are written.

    Raises:
        InvalidInput: A path is not a field of Client.
    """
    if not mask.paths:
        return None
    check_count(mask.paths, "field_mask.paths", len(CLIENT_FIELDS))
    if list(mask.paths) == ["*"]:
        return frozenset(CLIENT_FIELDS)
    for place, path in enumerate(mask.paths):
        if path not in CLIENT_FIELDS:
            raise InvalidInput(
                f"field_mask.paths[{place}]",
                f"is {path[:60]!r}; give some of {', '.join(CLIENT_FIELDS)}, or *",
            )
    return frozenset(mask.paths)


def parse_client_change(client: pb.Client, mask: frozenset[str] | None, field: str) -> ClientChange:
    """Translate the upsert of one client under the field mask. Raises InvalidInput."""
    key = parse_key(client.key, f"{field}.key")
    written = {descriptor.name for descriptor, _ in client.ListFields()} if mask is None else mask
    values = {
        name: check(getattr(client, name), f"{field}.{name}")
        for name, check in CLIENT_FIELDS.items()
        if name in written
    }
    return ClientChange.model_construct(key=key, **values)  # type: ignore[arg-type]


async def parse_as_of(
    request: pb.GetProfileRequest | pb.ListRoutersRequest | pb.GetRouterRequest, past: TimeTravel
) -> int | None:
    """Return the sequence of `as_of`; None means now.

    Raises:
        InvalidInput: `as_of` is malformed, or earlier than min_sequence.
        TooNew: `as_of` is in the future.
        TooOld: Retention no longer keeps that time.
    """
    if not request.HasField("as_of"):
        return None
    as_of = request.as_of
    if as_of.HasField("sequence"):
        if as_of.sequence < 1:
            raise InvalidInput("as_of.sequence", f"is {as_of.sequence}; sequences start at 1")
        sequence = await past.check_sequence(as_of.sequence)
    elif as_of.HasField("commit_time"):
        time_ms = parse_time(as_of.commit_time, "as_of.commit_time")
        sequence = await past.get_sequence_at_time(time_ms, SystemClock().now_ms())
    else:
        raise InvalidInput("as_of", "is empty; give sequence or commit_time")
    if request.min_sequence > sequence:
        raise InvalidInput(
            "min_sequence",
            f"is {request.min_sequence}, later than as_of, which is {sequence}; leave it out",
        )
    return sequence


@dataclass(frozen=True)
class Page:
    """One page of the list that answers `question`.

    It has `size` entries from `start` on.
    """

    question: str
    start: int
    size: int

    @property
    def before(self) -> int | None:
        """The number below which a page lies that is listed newest first.

        None: the page is the first.
        """
        return self.start or None

    @property
    def end(self) -> int:
        """The place after the last entry."""
        return self.start + self.size

    def create_next_token(self, start: int) -> str:
        """Make the token of another page of the same list."""
        return make_token(self.question, start)


def parse_page(request: Any, question: str, default: int = 100, most: int = LIMIT_MAX) -> Page:
    """Read page_size and page_token; without a token the page starts at 0.

    Args:
        request: The request.
        question: Names the list and all that determines its order. The token of another list is
            refused.
        default: The page's size, if the request names none.
        most: The largest size that the request may name.

    Raises:
        InvalidInput: The size is out of range, or the token belongs to another question.
    """
    size = parse_limit(request, "page_size", default, most)
    if not request.page_token:
        return Page(question, 0, size)
    (start,) = read_token(request.page_token, "page_token", question, 1)
    return Page(question, start, size)


def make_token(question: str, *numbers: int) -> str:
    """Make an opaque token for a place in the answer to `question`.

    A digest of place and question reveals a token that was altered, or is of another question.
    """
    place = ".".join(map(str, numbers))
    digest = blake2b(f"{question}|{place}".encode(), digest_size=12).digest()
    return f"{base64.urlsafe_b64encode(digest).decode()}.{place}"


def read_token(token: str, field: str, question: str, count: int, minimum: int = 0) -> list[int]:
    """Return the numbers of a token.

    Raises:
        InvalidInput: The token belongs to another question, or does not have `count` numbers of at
            least `minimum`.
    """
    numbers = [int(number) for number in TOKEN_NUMBER.findall(token.partition(".")[2])]
    known = len(numbers) == count and min(numbers) >= minimum
    if not known or make_token(question, *numbers) != token:
        raise InvalidInput(
            field,
            "does not belong to this request; give a token from an answer to a request with the"
            " same fields (such as kinds, bank or as_of), or leave it out",
        )
    return numbers
