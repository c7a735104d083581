"""Requests to the vocabulary, checked: every refusal names the field, the value's problem and the limit."""

import math
import unicodedata
from hashlib import blake2b

import orjson

from propagation.model.client import ID_MAX_BYTES, ClientChange, ClientKey, ClientKind
from propagation.model.errors import InvalidInput
from propagation.model.interaction import WEIGHT_MAX, NewInteraction
from propagation.v1 import propagation_pb2 as pb

KINDS = {pb.CLIENT_KIND_USER: ClientKind.USER, pb.CLIENT_KIND_ITEM: ClientKind.ITEM}
LAST_SECOND = 253_370_764_800


def checked_id(value: str, field: str) -> str:
    if not value:
        raise InvalidInput(field, "is empty; give 1 to 256 bytes of UTF-8")
    if len(value.encode()) > ID_MAX_BYTES:
        raise InvalidInput(field, f"is {len(value.encode())} bytes long; at most {ID_MAX_BYTES}")
    if any(unicodedata.category(character) == "Cc" for character in value):
        raise InvalidInput(field, "holds a control character; remove it")
    return value


def checked_key(key: pb.ClientKey, field: str) -> ClientKey:
    if key.kind not in KINDS:
        raise InvalidInput(f"{field}.kind", "is unspecified; give CLIENT_KIND_USER or CLIENT_KIND_ITEM")
    return ClientKey(kind=KINDS[key.kind], id=checked_id(key.id, f"{field}.id"))


def checked_change(client: pb.Client, field: str) -> ClientChange:
    return ClientChange(
        key=checked_key(client.key, f"{field}.key"), title=client.title or None, description=client.description or None,
        attributes=tuple(client.attributes) or None, categories=tuple(client.categories) or None,
        hidden=client.hidden if client.HasField("hidden") else None, metadata=dict(client.metadata) or None)


def checked_interaction(event: pb.Interaction, now_ms: int) -> NewInteraction:
    event_id = checked_id(event.event_id, "event_id")
    user, item = checked_id(event.user_id, "user_id"), checked_id(event.item_id, "item_id")
    negative = checked_id(event.negative_item_id, "negative_item_id") if event.HasField("negative_item_id") else None
    if negative == item:
        raise InvalidInput("negative_item_id", "is the item itself; name another item, or none")
    weight = event.weight if event.HasField("weight") else 1.0
    if not math.isfinite(weight) or not 0 < weight <= WEIGHT_MAX:
        raise InvalidInput("weight", f"is {weight}; give a number above 0 and at most {WEIGHT_MAX:g}")
    given = event.HasField("time")
    if given and not 0 <= event.time.seconds < LAST_SECOND:
        raise InvalidInput("time", "is outside of the years 1970 to 9998")
    time_ms = event.time.seconds * 1000 + event.time.nanos // 1_000_000 if given else now_ms
    content = orjson.dumps((user, item, negative, time_ms if given else None, weight, sorted(event.metadata.items())))
    return NewInteraction(event_id=event_id, user_id=user, item_id=item, negative_id=negative, time=time_ms, weight=weight,
                          metadata=dict(event.metadata), content_hash=blake2b(content, digest_size=12).hexdigest())
