"""Find what between two releases of the API breaks clients."""

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

LABEL_REPEATED = FieldDescriptorProto.LABEL_REPEATED


def breaks(before: FileDescriptorProto, after: FileDescriptorProto) -> Iterator[str]:
    """Describe the changes that break a client of `before`.

    A client may break on the wire, in JSON or in code.
    """
    old, new = _messages(before), _messages(after)
    for name, message in old.items():
        if name not in new:
            yield f"message {name} was removed"
        else:
            yield from _fields(name, message, new[name])
    old_enums, new_enums = _enums(before), _enums(after)
    for name, enum in old_enums.items():
        if name not in new_enums:
            yield f"enum {name} was removed"
        else:
            yield from _values(name, enum, new_enums[name])
    yield from _rpcs(before, after)


def _messages(file: FileDescriptorProto) -> dict[str, DescriptorProto]:
    found: dict[str, DescriptorProto] = {}

    def walk(prefix: str, messages: Iterator[DescriptorProto]) -> None:
        for message in messages:
            found[f"{prefix}.{message.name}"] = message
            walk(f"{prefix}.{message.name}", iter(message.nested_type))

    walk(file.package, iter(file.message_type))
    return found


def _enums(file: FileDescriptorProto) -> dict[str, EnumDescriptorProto]:
    found = {f"{file.package}.{enum.name}": enum for enum in file.enum_type}
    for name, message in _messages(file).items():
        found |= {f"{name}.{enum.name}": enum for enum in message.enum_type}
    return found


def _fields(name: str, before: DescriptorProto, after: DescriptorProto) -> Iterator[str]:
    by_number = {field.number: field for field in after.field}
    for field in before.field:
        now = by_number.get(field.number)
        if now is None:
            yield f"{name}.{field.name} (number {field.number}) was removed"
        elif now.name != field.name:
            yield f"{name}: number {field.number} was {field.name} and is {now.name}"
        elif _form(before, field) != _form(after, now):
            yield f"{name}.{field.name} changed its type, presence or oneof"


def _form(message: DescriptorProto, field: FieldDescriptorProto) -> tuple[object, ...]:
    oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None
    return field.type, field.type_name, field.label == LABEL_REPEATED, field.proto3_optional, oneof


def _values(name: str, before: EnumDescriptorProto, after: EnumDescriptorProto) -> Iterator[str]:
    now = {value.name: value.number for value in after.value}
    for value in before.value:
        if now.get(value.name) != value.number:
            yield f"{name}.{value.name} = {value.number} was removed or has another number"


def _rpcs(before: FileDescriptorProto, after: FileDescriptorProto) -> Iterator[str]:
    now = {(service.name, rpc.name): rpc for service in after.service for rpc in service.method}
    for service in before.service:
        for rpc in service.method:
            if now.get((service.name, rpc.name)) != rpc:
                yield (
                    f"rpc {service.name}.{rpc.name} was removed,"
                    " or changed its request, answer or streaming"
                )
