"""Requests to the vocabulary, checked: every refusal names the field, the value's problem and the
limit."""

from collections.abc import Sequence
from hashlib import blake2b

import orjson
from google.protobuf.timestamp_pb2 import Timestamp

from propagation.model.clients.client import ClientKey, ClientKind
from propagation.model.errors import InvalidInput
from propagation.model.interactions.interaction import NewInteraction
from propagation.model.validation import (
    check_id,
    check_metadata,
    check_negative,
    check_seconds,
    check_weight,
)
from propagation.v1 import propagation_pb2 as pb

KINDS = {pb.CLIENT_KIND_USER: ClientKind.USER, pb.CLIENT_KIND_ITEM: ClientKind.ITEM}
ITEMS_A_CALL = 1_000


def checked_key(key: pb.ClientKey, field: str) -> ClientKey:
    if key.kind not in KINDS:
        said = f"is {key.kind}" if key.kind else "is unspecified"
        raise InvalidInput(f"{field}.kind", f"{said}; give CLIENT_KIND_USER or CLIENT_KIND_ITEM")
    return ClientKey(kind=KINDS[key.kind], id=check_id(key.id, f"{field}.id"))


def checked_count(items: Sequence[object], field: str, instead: str = "") -> None:
    """A call carries a bounded number of things. `instead`: what else the caller may do. Raises
    InvalidInput."""
    if len(items) > ITEMS_A_CALL:
        raise InvalidInput(
            field, f"holds {len(items)}; at most {ITEMS_A_CALL} a call, send more calls{instead}"
        )


def checked_interaction(event: pb.Interaction, now_ms: int) -> NewInteraction:
    """An event as record takes it; `now_ms` where it has no time. Raises InvalidInput."""
    event_id = check_id(event.event_id, "event_id")
    user, item = check_id(event.user_id, "user_id"), check_id(event.item_id, "item_id")
    negative = (
        check_id(event.negative_item_id, "negative_item_id")
        if event.HasField("negative_item_id")
        else None
    )
    check_negative(item, negative, "negative_item_id")
    weight = check_weight(event.weight, "weight") if event.HasField("weight") else 1.0
    time_ms = checked_time(event.time, "time") if event.HasField("time") else None
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


def checked_time(time: Timestamp, field: str) -> int:
    """Milliseconds since 1970. Raises InvalidInput."""
    seconds, nanos = time.seconds, time.nanos
    check_seconds(seconds, field)
    if not 0 <= nanos < 1_000_000_000:
        raise InvalidInput(field, f"has {nanos} nanos; give 0 to 999,999,999")
    return seconds * 1000 + nanos // 1_000_000
