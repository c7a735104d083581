"""The rich details of a failed call."""

import grpc
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RequestInfo
from google.rpc.status_pb2 import Status


def _unpack(error: grpc.aio.AioRpcError, detail):
    status = Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
    assert any(packed.Unpack(detail) for packed in status.details), status
    return detail


def read_field_violation(error: grpc.aio.AioRpcError) -> BadRequest.FieldViolation:
    """Return the wrong field of a call that ended with INVALID_ARGUMENT."""
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    return _unpack(error, BadRequest()).field_violations[0]


def read_error_info(error: grpc.aio.AioRpcError) -> ErrorInfo:
    """Return the reason and the facts of any other error."""
    return _unpack(error, ErrorInfo())


def read_request_info(error: grpc.aio.AioRpcError) -> RequestInfo:
    """Return the request id of a fault."""
    return _unpack(error, RequestInfo())
