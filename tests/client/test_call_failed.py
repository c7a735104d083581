"""What a failed call reads from the metadata behind it."""

import grpc
import pytest
from grpc.aio import Metadata

from propagation_client.errors import DETAILS_KEY, CallFailed
from propagation_client.status_pb2 import Status

PACKED = Status().SerializeToString()


@pytest.mark.parametrize(
    ("metadata", "answered"),
    [
        (None, False),
        ((), False),
        ((("other", "x"),), False),
        (((DETAILS_KEY, "text"),), False),
        (((DETAILS_KEY, PACKED),), True),
        (Metadata((DETAILS_KEY, PACKED)), True),
        (Metadata(("other", "x"), (DETAILS_KEY, PACKED)), True),
    ],
)
def test_only_packed_details_say_that_the_service_answered(metadata, answered):
    failure = CallFailed(grpc.StatusCode.NOT_FOUND, trailing_metadata=metadata)
    assert failure.answered == answered
