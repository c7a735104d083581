"""The check that keeps callers of the last release served, and that the release still is."""

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from propagation.v1 import propagation_pb2 as pb
from proto.check import released
from proto.compare import breaks


@pytest.fixture
def now() -> FileDescriptorProto:
    file = FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(file)
    return file


def message(file, name):
    return next(found for found in file.message_type if found.name == name)


def test_nothing_breaks_the_last_release(now):
    assert list(breaks(released(), now)) == []


def test_additions_break_nothing(now):
    before = FileDescriptorProto.FromString(now.SerializeToString())
    message(now, "Line").field.add(name="new", number=99, type=FieldDescriptorProto.TYPE_STRING)
    now.message_type.add(name="New")
    assert list(breaks(before, now)) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda file: message(file, "Line").field.pop(0), "Line.id (number 1) is gone"),
        (
            lambda file: setattr(message(file, "Line").field[0], "name", "key"),
            "number 1 was id and is key",
        ),
        (
            lambda file: setattr(
                message(file, "Line").field[0], "type", FieldDescriptorProto.TYPE_INT32
            ),
            "Line.id changed",
        ),
        (
            lambda file: setattr(message(file, "Interaction").field[3], "proto3_optional", False),
            "negative_item_id changed",
        ),
        (lambda file: file.enum_type[0].value.pop(), "is gone or has another number"),
        (
            lambda file: file.service[0].method.pop(0),
            "rpc PropagationService.UpsertClients is gone",
        ),
        (
            lambda file: setattr(file.service[0].method[0], "client_streaming", True),
            "UpsertClients is gone or changed",
        ),
    ],
)
def test_a_break_is_said(now, change, says):
    before = FileDescriptorProto.FromString(now.SerializeToString())
    change(now)
    assert [line for line in breaks(before, now) if says in line]
