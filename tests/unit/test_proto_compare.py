"""Comparison of releases of the API, and that the API serves clients of the last release."""

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from propagation.v1 import propagation_pb2 as pb
from proto.check import released
from proto.compare import breaks


@pytest.fixture
def current_file() -> FileDescriptorProto:
    file = FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(file)
    return file


def find_message(file, name):
    return next(found for found in file.message_type if found.name == name)


def test_the_last_release_is_served(current_file):
    assert list(breaks(released(), current_file)) == []


def test_additions_break_nothing(current_file):
    before = FileDescriptorProto.FromString(current_file.SerializeToString())
    find_message(current_file, "Line").field.add(
        name="new", number=99, type=FieldDescriptorProto.TYPE_STRING
    )
    current_file.message_type.add(name="New")
    assert list(breaks(before, current_file)) == []


@pytest.mark.parametrize(
    ("change", "description"),
    [
        (lambda file: find_message(file, "Line").field.pop(0), "Line.id (number 1) was removed"),
        (
            lambda file: setattr(find_message(file, "Line").field[0], "name", "key"),
            "number 1 was id and is key",
        ),
        (
            lambda file: setattr(
                find_message(file, "Line").field[0], "type", FieldDescriptorProto.TYPE_INT32
            ),
            "Line.id changed",
        ),
        (
            lambda file: setattr(
                find_message(file, "Interaction").field[3], "proto3_optional", False
            ),
            "negative_item_id changed",
        ),
        (lambda file: file.enum_type[0].value.pop(), "was removed or has another number"),
        (
            lambda file: file.service[0].method.pop(0),
            "rpc PropagationService.UpsertClients was removed",
        ),
        (
            lambda file: setattr(file.service[0].method[0], "client_streaming", True),
            "UpsertClients was removed",
        ),
    ],
)
def test_breaking_changes_are_described(current_file, change, description):
    before = FileDescriptorProto.FromString(current_file.SerializeToString())
    change(current_file)
    assert [line for line in breaks(before, current_file) if description in line]
