"""TracePropagation: paths, hop by hop, in words."""

from collections.abc import AsyncIterator

from propagation.model.errors import InvalidInput
from propagation.model.validation import check_id, check_text
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.trace import Path, ProfileHop
from services.grpc.convert.paths import facts_of_paths, path_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.validation import checked_key
from services.security.roles import current_caller

PATHS = 20
PATHS_MAX = 1_000
LOOKED_AT_A_PLACE = 4


class Tracing(Servicer):
    """Where it went, or where it came from."""

    async def TracePropagation(
        self, request: pb.TracePropagationRequest, context: Context
    ) -> pb.TracePropagationResponse:
        limit = request.limit if request.HasField("limit") else PATHS
        if not 1 <= limit <= PATHS_MAX:
            raise InvalidInput("limit", f"is {limit}; give 1 to {PATHS_MAX}")
        reflects = await self._reflects()
        paths, more = await _first_of(await self._paths(request), limit)
        facts = await facts_of_paths(self._engine.store, current_caller(), paths)
        return pb.TracePropagationResponse(
            paths=[path_to_proto(path, facts) for path in paths], truncated=more, reflects=reflects
        )

    async def _paths(self, request: pb.TracePropagationRequest) -> AsyncIterator[Path]:
        tracer = self._engine.tracer
        match request.WhichOneof("origin"):
            case "event_id":
                return tracer.trace_event(check_id(request.event_id, "event_id"))
            case "client":
                return tracer.trace_client(await self._ref(checked_key(request.client, "client")))
            case "attribute":
                return tracer.trace_attribute(check_text(request.attribute, "attribute"))
            case "line":
                ref = await self._ref(checked_key(request.line.client, "line.client"))
                return tracer.trace_line(ref, request.line.line_id)
            case _:
                raise InvalidInput(
                    "origin", "is missing; give one of event_id, client, attribute, line"
                )


async def _first_of(found: AsyncIterator[Path], limit: int) -> tuple[list[Path], bool]:
    """The first paths, those that end in a profile before those that still wait at a router, among
    the first four times as many; whether there are more."""
    reaching: list[Path] = []
    waiting: list[Path] = []
    async for path in found:
        (reaching if isinstance(path[-1], ProfileHop) else waiting).append(path)
        if len(reaching) > limit or len(reaching) + len(waiting) > LOOKED_AT_A_PLACE * limit:
            break
    return (reaching + waiting)[:limit], len(reaching) + len(waiting) > limit
