"""UpsertClients."""

from propagation.v1 import propagation_pb2 as pb
from services.grpc.convert.vocabulary import key_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.validation import check_count, parse_client_change, parse_field_mask


class UpsertClientsHandler(Servicer):
    """Creates and changes clients, in one commit a call."""

    async def UpsertClients(
        self, request: pb.UpsertClientsRequest, context: Context
    ) -> pb.UpsertClientsResponse:
        check_count(request.clients, "clients")
        mask = parse_field_mask(request.field_mask)
        changes = [
            parse_client_change(client, mask, f"clients[{place}]")
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
