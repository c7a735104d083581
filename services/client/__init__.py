"""A client of the service for the command line, the demo and the benchmarks."""

from services.client.stub import (
    ChildFailed,
    Credentials,
    Refused,
    Stub,
    Unreachable,
    UsageProblem,
    connect,
    explain_failure,
    list_routers,
)
from services.client.upload import (
    BYTES_A_CALL,
    UploadReport,
    client_to_proto,
    event_to_proto,
    upload,
)

__all__ = [
    "BYTES_A_CALL",
    "ChildFailed",
    "Credentials",
    "Refused",
    "Stub",
    "Unreachable",
    "UploadReport",
    "UsageProblem",
    "client_to_proto",
    "connect",
    "event_to_proto",
    "explain_failure",
    "list_routers",
    "upload",
]
