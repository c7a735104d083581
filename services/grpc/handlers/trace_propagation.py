"""TracePropagation."""

from collections.abc import AsyncIterator

from propagation.model import InvalidInput, check_id, check_text
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.trace import Path, ProfileHop
from services.grpc.convert.paths import load_path_references, path_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.validation import parse_key, parse_limit
from services.security.roles import current_caller

LIMIT = 20
PATHS_READ = 4  # times the limit, while looking for paths that reached a profile


class TracePropagationHandler(Servicer):
    """Finds the paths that preferences took."""

    async def TracePropagation(
        self, request: pb.TracePropagationRequest, context: Context
    ) -> pb.TracePropagationResponse:
        limit = parse_limit(request, "limit", LIMIT)
        reflects = await self._reflects()
        paths = await select_paths(await self._find_paths(request), limit)
        shown = paths[:limit]
        references = await load_path_references(self._engine.store, current_caller(), shown)
        return pb.TracePropagationResponse(
            paths=[path_to_proto(path, references) for path in shown],
            truncated=len(paths) > limit,
            reflects=reflects,
        )

    async def _find_paths(self, request: pb.TracePropagationRequest) -> AsyncIterator[Path]:
        tracer = self._engine.tracer
        match request.WhichOneof("origin"):
            case "event_id":
                return tracer.trace_event(check_id(request.event_id, "event_id"))
            case "client":
                return tracer.trace_client(
                    await self._engine.find_ref(parse_key(request.client, "client"))
                )
            case "attribute":
                return tracer.trace_attribute(check_text(request.attribute, "attribute"))
            case "line":
                ref = await self._engine.find_ref(parse_key(request.line.client, "line.client"))
                return tracer.trace_line(ref, request.line.line_id)
            case _:
                raise InvalidInput(
                    "origin", "is missing; give one of event_id, client, attribute, line"
                )


async def select_paths(found: AsyncIterator[Path], limit: int) -> list[Path]:
    """Select the first paths, those that reached a profile before those that end at a router.

    Reads at most four times as many paths as the limit.

    Returns:
        More than `limit` paths if there are more.
    """
    reached: list[Path] = []
    waiting: list[Path] = []
    async for path in found:
        (reached if isinstance(path[-1], ProfileHop) else waiting).append(path)
        if len(reached) > limit or len(reached) + len(waiting) > PATHS_READ * limit:
            break
    return reached + waiting
