"""`as_of` to a sequence."""

from typing import Protocol

from propagation.model.errors import InvalidInput
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.time_travel import TimeTravel
from services.grpc.requests.validation import checked_time
from services.runtime.process import SystemClock


class AsksOfThePast(Protocol):
    """A request with both fields."""

    @property
    def as_of(self) -> pb.AsOf: ...

    @property
    def min_sequence(self) -> int: ...


async def as_of(request: AsksOfThePast, past: TimeTravel) -> int:
    """The sequence that a request asks for. Raises InvalidInput, TooNew, TooOld."""
    sequence = await _sequence_of(request.as_of, past)
    if request.min_sequence > sequence:
        raise InvalidInput(
            "min_sequence",
            f"is {request.min_sequence}, later than as_of, which is {sequence}; leave it out",
        )
    return sequence


async def _sequence_of(asked: pb.AsOf, past: TimeTravel) -> int:
    if asked.HasField("sequence"):
        if asked.sequence < 1:
            raise InvalidInput("as_of.sequence", f"is {asked.sequence}; sequences start at 1")
        return await past.check_sequence(asked.sequence)
    if not asked.HasField("commit_time"):
        raise InvalidInput("as_of", "is empty; give sequence or commit_time")
    return await past.sequence_at_time(
        checked_time(asked.commit_time, "as_of.commit_time"), SystemClock().now_ms()
    )
