"""UpsertClients' clients under their field mask, checked."""

from collections.abc import Callable
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask

from propagation.model.clients.client import ClientChange
from propagation.model.errors import InvalidInput
from propagation.model.validation import check_list, check_metadata, check_text
from propagation.v1 import propagation_pb2 as pb
from services.grpc.requests.validation import checked_key

FIELDS: dict[str, Callable[[Any, str], object]] = {
    "title": check_text,
    "description": check_text,
    "attributes": check_list,
    "categories": check_list,
    "hidden": lambda value, _: bool(value),
    "metadata": check_metadata,
}
SCALARS = frozenset({"title", "description", "hidden"})


def checked_mask(mask: FieldMask) -> frozenset[str] | None:
    """The fields to write; None: those that are set in each client. Raises InvalidInput."""
    if not mask.paths:
        return None
    if list(mask.paths) == ["*"]:
        return frozenset(FIELDS)
    for place, path in enumerate(mask.paths):
        if path not in FIELDS:
            raise InvalidInput(
                f"field_mask.paths[{place}]", f"is {path!r}; give some of {', '.join(FIELDS)}, or *"
            )
    return frozenset(mask.paths)


def checked_change(client: pb.Client, mask: frozenset[str] | None, field: str) -> ClientChange:
    """What this client's upsert asks for. Raises InvalidInput."""
    key = checked_key(client.key, f"{field}.key")
    given = {
        name: check(getattr(client, name), f"{field}.{name}")
        for name, check in FIELDS.items()
        if (_is_set(client, name) if mask is None else name in mask)
    }
    return ClientChange.model_construct(key=key, **given)  # type: ignore[arg-type]


def _is_set(client: pb.Client, name: str) -> bool:
    return client.HasField(name) if name in SCALARS else bool(getattr(client, name))  # type: ignore[arg-type]
