"""UpsertClients and RecordInteractions: durable, then acknowledged."""

from propagation.v1 import propagation_pb2 as pb
from services.grpc.convert.vocabulary import key_to_proto
from services.grpc.handlers.record_events import Recording
from services.grpc.handlers.servicer import Context
from services.grpc.requests.client_changes import checked_change, checked_mask
from services.grpc.requests.validation import checked_count


class Writing(Recording):
    """Batches, each in one commit."""

    async def UpsertClients(
        self, request: pb.UpsertClientsRequest, context: Context
    ) -> pb.UpsertClientsResponse:
        checked_count(request.clients, "clients")
        mask = checked_mask(request.field_mask)
        changes = [
            checked_change(client, mask, f"clients[{place}]")
            for place, client in enumerate(request.clients)
        ]
        with self._worker.recording():
            outcomes = await self._engine.upsert_clients(changes) if changes else ()
        return pb.UpsertClientsResponse(
            outcomes=[
                pb.UpsertClientsResponse.Outcome(
                    key=key_to_proto(change.key),
                    created=outcome.created,
                    changed=outcome.changed,
                    sequence=outcome.sequence,
                )
                for change, outcome in zip(changes, outcomes, strict=True)
            ],
            sequence=max((outcome.sequence for outcome in outcomes), default=0),
        )

    async def RecordInteractions(
        self, request: pb.RecordInteractionsRequest, context: Context
    ) -> pb.RecordInteractionsResponse:
        checked_count(request.interactions, "interactions", " or use the stream")
        outcomes = await self._record(request.interactions)
        return pb.RecordInteractionsResponse(
            outcomes=outcomes, sequence=max((o.sequence for o in outcomes), default=0)
        )
