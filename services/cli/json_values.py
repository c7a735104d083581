"""Messages as JSON values: the proto's own field names, numbers as numbers, enums by name, absent
optional fields null."""

from typing import TYPE_CHECKING, Any, TypeAlias

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

if TYPE_CHECKING:
    from google._upb._message import FieldDescriptor as CompiledField

    FieldDescriptor: TypeAlias = Field | CompiledField


def plain(message: Message) -> Any:
    """A dict with every field of the message, whatever is set; the set one of a oneof's fields
    alone; times as ISO 8601."""
    if isinstance(message, Timestamp):
        return message.ToJsonString()
    return {
        field.name: _value(message, field)
        for field in message.DESCRIPTOR.fields
        if not _other_of_oneof(message, field)
    }


def _other_of_oneof(message: Message, field: "FieldDescriptor") -> bool:
    oneof = field.containing_oneof
    return (
        oneof is not None and len(oneof.fields) > 1 and message.WhichOneof(oneof.name) != field.name
    )


def _value(message: Message, field: "FieldDescriptor") -> Any:
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict(value)
    if field.is_repeated:
        return [_one(field, element) for element in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _one(field, value)


def _one(field: "FieldDescriptor", value: Any) -> Any:
    if field.message_type is not None:
        return plain(value)
    return field.enum_type.values_by_number[value].name if field.enum_type is not None else value
