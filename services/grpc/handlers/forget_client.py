"""RetractInteractions, ForgetClient and ExportClient."""

from collections.abc import AsyncGenerator

from propagation.model import EventStatus, check_id
from propagation.v1 import propagation_pb2 as pb
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.validation import check_count, parse_key

REASONS = {
    EventStatus.UNKNOWN: "UNKNOWN",
    EventStatus.RETRACTED: "RETRACTED",
    EventStatus.FORGOTTEN: "FORGOTTEN",
}


class ForgetClientHandler(Servicer):
    """Takes events back, and erases or exports a client."""

    async def RetractInteractions(
        self, request: pb.RetractInteractionsRequest, context: Context
    ) -> pb.RetractInteractionsResponse:
        check_count(request.event_ids, "event_ids")
        ids = [
            check_id(event_id, f"event_ids[{place}]")
            for place, event_id in enumerate(request.event_ids)
        ]
        done = await self._worker.run_uninterrupted(self._engine.retract(ids))
        return pb.RetractInteractionsResponse(
            sequence=done.sequence,
            outcomes=[
                pb.RetractInteractionsResponse.Outcome(
                    event_id=event.event_id,
                    retracted=event.retracted,
                    reason=None if event.retracted else REASONS[event.before],
                )
                for event in done.events
            ],
        )

    async def ForgetClient(
        self, request: pb.ForgetClientRequest, context: Context
    ) -> pb.ForgetClientResponse:
        key = parse_key(request.key, "key")
        done = await self._worker.run_uninterrupted(self._engine.forget(key, wipe=request.wipe))
        return pb.ForgetClientResponse(
            sequence=done.sequence,
            events_erased=done.events_erased,
            lines_dropped=done.lines_dropped,
        )

    async def ExportClient(
        self, request: pb.ExportClientRequest, context: Context
    ) -> AsyncGenerator[pb.ExportClientResponse, None]:
        key = parse_key(request.key, "key")
        async for line in self._engine.export_client(key):
            yield pb.ExportClientResponse(json_line=line)
