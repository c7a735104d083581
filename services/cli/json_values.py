"""Messages of the proto as JSON values."""

from typing import TYPE_CHECKING, Any, TypeAlias

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

if TYPE_CHECKING:
    from google._upb._message import FieldDescriptor as CompiledField

    FieldDescriptor: TypeAlias = Field | CompiledField


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
        return to_json_values(value)
    return field.enum_type.values_by_number[value].name if field.enum_type is not None else value
