"""Requests to the vocabulary, checked: every refusal names the field, the value's problem and the limit."""

import math
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import orjson
from google.protobuf.timestamp_pb2 import Timestamp

from propagation.model.client import ID_MAX_BYTES, LIST_MAX, TEXT_MAX_CHARS, ClientKey, ClientKind
from propagation.model.errors import InvalidInput
from propagation.model.interaction import WEIGHT_MAX, NewInteraction
from propagation.v1 import propagation_pb2 as pb

KINDS = {pb.CLIENT_KIND_USER: ClientKind.USER, pb.CLIENT_KIND_ITEM: ClientKind.ITEM}
ITEMS_A_CALL = 1_000
LAST_SECOND = 253_370_764_800
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
SURELY_SHORT = ID_MAX_BYTES // 4


def checked_id(value: str, field: str) -> str:
    """An id as it is. Raises InvalidInput."""
    if value and len(value) <= SURELY_SHORT and value.isprintable():
        return value
    if not value:
        raise InvalidInput(field, f"is empty; give 1 to {ID_MAX_BYTES} bytes of UTF-8")
    if len(value.encode()) > ID_MAX_BYTES:
        raise InvalidInput(field, f"is {len(value.encode())} bytes long; at most {ID_MAX_BYTES}")
    if CONTROL.search(value):
        raise InvalidInput(field, "holds a control character (a line break, a tab, ...); remove it")
    return value


def checked_key(key: pb.ClientKey, field: str) -> ClientKey:
    if key.kind not in KINDS:
        said = f"is {key.kind}" if key.kind else "is unspecified"
        raise InvalidInput(f"{field}.kind", f"{said}; give CLIENT_KIND_USER or CLIENT_KIND_ITEM")
    return ClientKey(kind=KINDS[key.kind], id=checked_id(key.id, f"{field}.id"))


def checked_count(items: Sequence[object], field: str, instead: str = "") -> None:
    """A call carries a bounded number of things. `instead`: what else the caller may do. Raises InvalidInput."""
    if len(items) > ITEMS_A_CALL:
        raise InvalidInput(field, f"holds {len(items)}; at most {ITEMS_A_CALL} a call, send more calls{instead}")


def checked_text(value: str, field: str) -> str:
    """Text may hold line breaks, but is bounded and has no U+0000."""
    if len(value) > TEXT_MAX_CHARS:
        raise InvalidInput(field, f"is {len(value)} characters long; at most {TEXT_MAX_CHARS}")
    if "\0" in value:
        raise InvalidInput(field, "holds the character U+0000; remove it")
    return value


def checked_metadata(metadata: Mapping[str, str], field: str) -> dict[str, str]:
    """A small map of the caller's own: bounded together like one text."""
    if len(metadata) > LIST_MAX:
        raise InvalidInput(field, f"holds {len(metadata)} entries; at most {LIST_MAX}")
    checked_text("".join(part for entry in metadata.items() for part in entry), field)
    return dict(metadata)


def checked_interaction(event: pb.Interaction, now_ms: int) -> NewInteraction:
    """An event as record takes it; `now_ms` where it has no time. Raises InvalidInput."""
    event_id = checked_id(event.event_id, "event_id")
    user, item = checked_id(event.user_id, "user_id"), checked_id(event.item_id, "item_id")
    negative = checked_id(event.negative_item_id, "negative_item_id") if event.HasField("negative_item_id") else None
    if negative == item:
        raise InvalidInput("negative_item_id", "is the item itself; name another item, or none")
    weight = _checked_weight(event.weight) if event.HasField("weight") else 1.0
    time_ms = checked_time(event.time, "time") if event.HasField("time") else None
    metadata = checked_metadata(event.metadata, "metadata") if event.metadata else {}
    content = orjson.dumps((user, item, negative, time_ms, weight, sorted(metadata.items())))
    return NewInteraction(
        event_id=event_id, user_id=user, item_id=item, negative_id=negative, time=now_ms if time_ms is None else time_ms,
        weight=weight, metadata=metadata, content_hash=blake2b(content, digest_size=12).hexdigest())


def _checked_weight(weight: float) -> float:
    if not math.isfinite(weight) or not 0 < weight <= WEIGHT_MAX:
        raise InvalidInput("weight", f"is {weight}; give a number above 0 and at most {WEIGHT_MAX:g}")
    return weight


def checked_time(time: Timestamp, field: str) -> int:
    """Milliseconds since 1970. Raises InvalidInput."""
    seconds, nanos = time.seconds, time.nanos
    if not 0 <= seconds < LAST_SECOND:
        raise InvalidInput(field, "is outside of the years 1970 to 9998")
    if not 0 <= nanos < 1_000_000_000:
        raise InvalidInput(field, f"has {nanos} nanos; give 0 to 999,999,999")
    return seconds * 1000 + nanos // 1_000_000
