"""`as_of` to a sequence."""

from propagation.model.errors import InvalidInput
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.past import Past
from services.clock import SystemClock
from services.grpc.check import checked_time


async def sequence_of(as_of: pb.AsOf, past: Past) -> int:
    """Raises InvalidInput, TooNew, TooOld."""
    if as_of.HasField("sequence"):
        if as_of.sequence < 1:
            raise InvalidInput("as_of.sequence", f"is {as_of.sequence}; sequences start at 1")
        return await past.at_sequence(as_of.sequence)
    if not as_of.HasField("commit_time"):
        raise InvalidInput("as_of", "is empty; give sequence or commit_time")
    return await past.at_time(checked_time(as_of.commit_time, "as_of.commit_time"), SystemClock().now_ms())
