"""Errors as gRPC statuses with rich details (google.rpc.Status in grpc-status-details-bin)."""

from collections.abc import Callable

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RequestInfo
from google.rpc.status_pb2 import Status

from propagation import errors
from propagation.ports import VersionClash
from services.runtime.errors import AnswerTooLarge, NotAllowed, OutOfTime, Starting, Stopping
from services.security.admission import NotAuthenticated
from services.security.rate_limits import RateLimited
from services.security.roles import admitted_caller

DOMAIN = "propagation.v1"
DETAILS_KEY = "grpc-status-details-bin"
# A subclass has the code of the nearest class that is listed; any other error is a REFUSED
# precondition.
CODES: dict[type[Exception], tuple[grpc.StatusCode, str]] = {
    errors.NotFound: (grpc.StatusCode.NOT_FOUND, "NOT_KNOWN"),
    errors.NotReached: (grpc.StatusCode.UNAVAILABLE, "NOT_REACHED"),
    errors.TooOld: (grpc.StatusCode.OUT_OF_RANGE, "TOO_OLD"),
    errors.VersionTooOld: (grpc.StatusCode.OUT_OF_RANGE, "TOO_OLD"),
    errors.TooNew: (grpc.StatusCode.OUT_OF_RANGE, "TOO_NEW"),
    errors.LeaseHeld: (grpc.StatusCode.UNAVAILABLE, "LEASE_HELD"),
    errors.LeaseLost: (grpc.StatusCode.ABORTED, "LEASE_LOST"),
    VersionClash: (grpc.StatusCode.ABORTED, "VERSION_CLASH"),
    errors.StoreBusy: (grpc.StatusCode.UNAVAILABLE, "STORE_BUSY"),
    errors.StoreCorrupt: (grpc.StatusCode.DATA_LOSS, "STORE_CORRUPT"),
    errors.StoreFull: (grpc.StatusCode.RESOURCE_EXHAUSTED, "STORE_FULL"),
    errors.StoreUnreachable: (grpc.StatusCode.UNAVAILABLE, "STORE_UNREACHABLE"),
    errors.StoreRefused: (grpc.StatusCode.UNAVAILABLE, "STORE_REFUSED"),
    errors.SchemaTooNew: (grpc.StatusCode.FAILED_PRECONDITION, "SCHEMA_TOO_NEW"),
    errors.IncompatibleSettings: (grpc.StatusCode.FAILED_PRECONDITION, "INCOMPATIBLE_SETTINGS"),
    errors.ReasonerFailed: (grpc.StatusCode.UNAVAILABLE, "REASONER_FAILED"),
    errors.IndexUnavailable: (grpc.StatusCode.UNAVAILABLE, "INDEX_UNAVAILABLE"),
    Starting: (grpc.StatusCode.UNAVAILABLE, "STARTING"),
    Stopping: (grpc.StatusCode.UNAVAILABLE, "STOPPING"),
    OutOfTime: (grpc.StatusCode.DEADLINE_EXCEEDED, "OUT_OF_TIME"),
    NotAuthenticated: (grpc.StatusCode.UNAUTHENTICATED, "NOT_AUTHENTICATED"),
    NotAllowed: (grpc.StatusCode.PERMISSION_DENIED, "NOT_ALLOWED"),
    RateLimited: (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MUCH"),
    AnswerTooLarge: (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE"),
    errors.PropagationError: (grpc.StatusCode.FAILED_PRECONDITION, "REFUSED"),
}


def build_status(
    error: errors.PropagationError, redact: Callable[[str], str]
) -> tuple[grpc.StatusCode, Status]:
    """Build the status of an error, as this caller may see it.

    Only the roles analyst and admin see messages of a model's server. The status of a wrong field
    has a BadRequest as its details; any other status has an ErrorInfo.

    Args:
        redact: Hides the parts of a text that the caller may not see.
    """
    if isinstance(error, errors.InvalidInput):
        return _build(
            grpc.StatusCode.INVALID_ARGUMENT,
            str(error),
            BadRequest(
                field_violations=[
                    BadRequest.FieldViolation(field=error.field, description=error.problem)
                ]
            ),
        )
    code, reason = next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)
    if isinstance(error, errors.ReasonerFailed) and not admitted_caller.get().reads_model_errors:
        return _build(code, error.public_reason, ErrorInfo(reason=reason, domain=DOMAIN))
    facts = {name: redact(str(value)) for name, value in vars(error).items()}
    return _build(code, redact(str(error)), ErrorInfo(reason=reason, domain=DOMAIN, metadata=facts))


def create_internal_status(request_id: str) -> tuple[grpc.StatusCode, Status]:
    """Build the status of a fault.

    The caller gets the request id to quote, and no details of the fault.
    """
    return _build(
        grpc.StatusCode.INTERNAL,
        f"the service failed; its log says why under request id {request_id}",
        ErrorInfo(reason="INTERNAL", domain=DOMAIN),
        RequestInfo(request_id=request_id),
    )


def _build(code: grpc.StatusCode, text: str, *details: Message) -> tuple[grpc.StatusCode, Status]:
    status = Status(code=code.value[0], message=text)
    for detail in details:
        status.details.add().Pack(detail)
    return code, status
