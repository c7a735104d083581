"""Our errors as gRPC statuses with rich details (google.rpc.Status in grpc-status-details-bin)."""

from collections.abc import Callable

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RequestInfo
from google.rpc.status_pb2 import Status

from propagation.model import errors
from services.runtime.errors import NotAllowed, OutOfTime, Starting, Stopping
from services.security.admission import NotAuthenticated
from services.security.rate_limits import RateLimited

DOMAIN = "propagation.v1"
DETAILS_KEY = "grpc-status-details-bin"
CODES: dict[type[errors.PropagationError], tuple[grpc.StatusCode, str]] = {
    errors.NotFound: (grpc.StatusCode.NOT_FOUND, "NOT_KNOWN"),
    errors.NotReached: (grpc.StatusCode.UNAVAILABLE, "NOT_REACHED"),
    errors.TooOld: (grpc.StatusCode.OUT_OF_RANGE, "TOO_OLD"),
    errors.TooNew: (grpc.StatusCode.OUT_OF_RANGE, "TOO_NEW"),
    errors.LeaseHeld: (grpc.StatusCode.UNAVAILABLE, "LEASE_HELD"),
    errors.LeaseLost: (grpc.StatusCode.ABORTED, "LEASE_LOST"),
    errors.StoreBusy: (grpc.StatusCode.UNAVAILABLE, "STORE_BUSY"),
    errors.StoreCorrupt: (grpc.StatusCode.DATA_LOSS, "STORE_CORRUPT"),
    errors.StoreFull: (grpc.StatusCode.RESOURCE_EXHAUSTED, "STORE_FULL"),
    errors.StoreUnreachable: (grpc.StatusCode.UNAVAILABLE, "STORE_UNREACHABLE"),
    errors.StoreRefused: (grpc.StatusCode.UNAVAILABLE, "STORE_REFUSED"),
    errors.SchemaTooNew: (grpc.StatusCode.FAILED_PRECONDITION, "SCHEMA_TOO_NEW"),
    errors.IncompatibleSettings: (grpc.StatusCode.FAILED_PRECONDITION, "INCOMPATIBLE_SETTINGS"),
    errors.Unsupported: (grpc.StatusCode.UNIMPLEMENTED, "UNSUPPORTED"),
    errors.ReasonerFailed: (grpc.StatusCode.UNAVAILABLE, "REASONER_FAILED"),
    Starting: (grpc.StatusCode.UNAVAILABLE, "STARTING"),
    Stopping: (grpc.StatusCode.UNAVAILABLE, "STOPPING"),
    OutOfTime: (grpc.StatusCode.DEADLINE_EXCEEDED, "OUT_OF_TIME"),
    NotAuthenticated: (grpc.StatusCode.UNAUTHENTICATED, "NOT_AUTHENTICATED"),
    NotAllowed: (grpc.StatusCode.PERMISSION_DENIED, "NOT_ALLOWED"),
    RateLimited: (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MUCH"),
    errors.IndexUnavailable: (grpc.StatusCode.UNAVAILABLE, "INDEX_UNAVAILABLE"),
}


def status_of(
    error: errors.PropagationError, told: Callable[[str], str]
) -> tuple[grpc.StatusCode, Status]:
    """The code, and the status with a BadRequest (a wrong field) or an ErrorInfo (anything else).
    `told`: a text as this caller may know it."""
    if isinstance(error, errors.InvalidInput):
        detail = BadRequest(
            field_violations=[
                BadRequest.FieldViolation(field=error.field, description=error.problem)
            ]
        )
        return _status(grpc.StatusCode.INVALID_ARGUMENT, str(error), detail)
    code, reason = CODES.get(type(error), (grpc.StatusCode.FAILED_PRECONDITION, "REFUSED"))
    facts = {name: told(str(value)) for name, value in vars(error).items()}
    return _status(code, told(str(error)), ErrorInfo(reason=reason, domain=DOMAIN, metadata=facts))


def unexpected(request_id: str) -> tuple[grpc.StatusCode, Status]:
    """A fault of ours: the caller gets a number to quote, never what went wrong inside."""
    text = f"the service failed; its log says why under request id {request_id}"
    return _status(
        grpc.StatusCode.INTERNAL,
        text,
        ErrorInfo(reason="INTERNAL", domain=DOMAIN),
        RequestInfo(request_id=request_id),
    )


def _status(code: grpc.StatusCode, text: str, *details: Message) -> tuple[grpc.StatusCode, Status]:
    packed = []
    for detail in details:
        packed.append(AnyMessage())
        packed[-1].Pack(detail)
    return code, Status(code=code.value[0], message=text, details=packed)
