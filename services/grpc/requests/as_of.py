"""The past that a request asks for, as a sequence."""

from propagation.model import InvalidInput
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.time_travel import TimeTravel
from services.grpc.requests.validation import parse_time
from services.runtime.process import SystemClock


async def parse_as_of(
    request: pb.GetProfileRequest | pb.ListRoutersRequest | pb.GetRouterRequest, past: TimeTravel
) -> int | None:
    """Return the sequence of `as_of`; None means now.

    Raises:
        InvalidInput: It is malformed, or earlier than min_sequence.
        TooNew: It is in the future.
        TooOld: Retention no longer keeps it.
    """
    if not request.HasField("as_of"):
        return None
    sequence = await _find_sequence(request.as_of, past)
    if request.min_sequence > sequence:
        raise InvalidInput(
            "min_sequence",
            f"is {request.min_sequence}, later than as_of, which is {sequence}; leave it out",
        )
    return sequence


async def _find_sequence(as_of: pb.AsOf, past: TimeTravel) -> int:
    if as_of.HasField("sequence"):
        if as_of.sequence < 1:
            raise InvalidInput("as_of.sequence", f"is {as_of.sequence}; sequences start at 1")
        return await past.check_sequence(as_of.sequence)
    if not as_of.HasField("commit_time"):
        raise InvalidInput("as_of", "is empty; give sequence or commit_time")
    time_ms = parse_time(as_of.commit_time, "as_of.commit_time")
    return await past.sequence_at_time(time_ms, SystemClock().now_ms())
