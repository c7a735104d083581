"""Failures of calls: a sentence, and the details that the service sent."""

from typing import Any

import grpc

from propagation_client.status_pb2 import BadRequest, ErrorInfo, RequestInfo, Status

DETAILS_KEY = "grpc-status-details-bin"


class CallFailed(grpc.aio.AioRpcError):
    """A call failed.

    `str()` says why in a sentence, `code()` is gRPC's status code.

    Attributes:
        answered: Whether the service itself refused the call; else the connection failed.
        reason: The service's word for the failure, such as NOT_KNOWN or TOO_MUCH. The proto's
            comments list the reasons of each call. Empty for a wrong field.
        facts: Values that belong to the reason, such as the oldest sequence that is kept.
        field: The field of the request that is wrong, such as interactions[3].weight. Empty if the
            failure is not about one.
        problem: What is wrong with the field, and its limit.
        request_id: The id under which the service's log describes a fault of the service.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        initial_metadata: Any = None,
        trailing_metadata: Any = None,
        details: str | None = None,
        debug_error_string: str | None = None,
    ) -> None:
        super().__init__(code, initial_metadata, trailing_metadata, details, debug_error_string)
        self.reason = self.field = self.problem = self.request_id = ""
        self.facts: dict[str, str] = {}
        packed = next(
            (
                value
                for key, value in trailing_metadata or ()
                if key == DETAILS_KEY and isinstance(value, bytes)
            ),
            None,
        )
        self.answered = packed is not None
        for detail in Status.FromString(packed or b"").details:
            match detail.TypeName():
                case "google.rpc.BadRequest":
                    for violation in BadRequest.FromString(detail.value).field_violations:
                        self.field, self.problem = violation.field, violation.description
                case "google.rpc.ErrorInfo":
                    info = ErrorInfo.FromString(detail.value)
                    self.reason, self.facts = info.reason, dict(info.metadata)
                case "google.rpc.RequestInfo":
                    self.request_id = RequestInfo.FromString(detail.value).request_id

    @property
    def retry_seconds(self) -> float | None:
        """Seconds until the next attempt; None if the service names none."""
        seconds = self.facts.get("retry_seconds")
        return None if seconds is None else float(seconds)

    def __str__(self) -> str:
        return self.details() or self.code().name


class Unreachable(CallFailed):
    """No service answered before the deadline, or none was reached."""


def explain(error: grpc.aio.AioRpcError, address: str) -> CallFailed:
    """Turn gRPC's error into one with a sentence and details.

    UNAVAILABLE and DEADLINE_EXCEEDED without details come from the connection, not from the
    service.
    """
    code, details = error.code(), error.details()
    metadata = (error.initial_metadata(), error.trailing_metadata())
    failure = CallFailed(code, *metadata, details, error.debug_error_string())
    if failure.answered:
        return failure
    if code == grpc.StatusCode.UNAVAILABLE:
        # A refused connection has no more to tell; a failed handshake of TLS has.
        reason = "" if not details or "Connection refused" in details else f": {details}"
        return Unreachable(code, *metadata, f"no service answers at {address}{reason}")
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return Unreachable(code, *metadata, f"the service at {address} did not answer in time")
    return failure
