"""Functions that build the messages which every application needs."""

import uuid
from collections.abc import Mapping
from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp

from propagation.v1 import propagation_pb2 as pb


def user_key(name: str) -> pb.ClientKey:
    """Return the key of a user."""
    return pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=name)


def item_key(name: str) -> pb.ClientKey:
    """Return the key of an item."""
    return pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=name)


def interaction(
    user_id: str,
    item_id: str,
    *,
    event_id: str | None = None,
    negative_item_id: str | None = None,
    time: datetime | None = None,
    weight: float | None = None,
    metadata: Mapping[str, str] | None = None,
) -> pb.Interaction:
    """Make an event: the user chose the item.

    Args:
        event_id: Your own id of the event, such as the order's. However often the event is
            recorded, it counts once. None: a random id.
        negative_item_id: The item that the user passed over, if that is known.
        time: When the event happened, with a time zone. None: the time when it is recorded.
        weight: How much the event counts, above 0 and at most 10. None: 1.
        metadata: Your own data, which the service only stores.

    Raises:
        ValueError: The time has no zone.
    """
    return pb.Interaction(
        event_id=event_id or new_event_id(),
        user_id=user_id,
        item_id=item_id,
        negative_item_id=negative_item_id,
        time=build_timestamp(time),
        weight=weight,
        metadata=metadata,
    )


def build_timestamp(time: datetime | None) -> Timestamp | None:
    """Convert a time; None stays None.

    Raises:
        ValueError: The time has no zone.
    """
    if time is None:
        return None
    if time.tzinfo is None:
        raise ValueError(f"the time {time} has no time zone; use datetime.now(UTC), for example")
    moment = Timestamp()
    moment.FromDatetime(time)
    return moment


def new_event_id() -> str:
    """Return an id that no other event has."""
    return uuid.uuid4().hex
