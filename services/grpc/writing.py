"""UpsertClients and RecordInteractions: durable, then acknowledged."""

import time

from propagation.model.errors import InvalidInput
from propagation.model.interaction import NewInteraction
from propagation.v1 import propagation_pb2 as pb
from services.grpc.base import Context, Servicer
from services.grpc.check import checked_change, checked_interaction
from services.grpc.convert import key_to_proto
from services.grpc.outcomes import fill, reject


class Writing(Servicer):
    """Batches, each in one commit."""

    async def UpsertClients(self, request: pb.UpsertClientsRequest, context: Context) -> pb.UpsertClientsResponse:
        changes = [checked_change(client, f"clients[{place}]") for place, client in enumerate(request.clients)]
        outcomes = await self._engine.upsert_clients(changes)
        self._worker.recorded()
        return pb.UpsertClientsResponse(
            outcomes=[pb.UpsertClientsResponse.Outcome(key=key_to_proto(change.key), created=outcome.created,
                                                       changed=outcome.changed, sequence=outcome.sequence)
                      for change, outcome in zip(changes, outcomes, strict=True)],
            sequence=max((outcome.sequence for outcome in outcomes), default=0))

    async def RecordInteractions(self, request: pb.RecordInteractionsRequest, context: Context) -> pb.RecordInteractionsResponse:
        outcomes = [pb.InteractionOutcome(event_id=event.event_id) for event in request.interactions]
        good: list[tuple[int, NewInteraction]] = []
        now = time.time_ns() // 1_000_000
        for place, event in enumerate(request.interactions):
            try:
                good.append((place, checked_interaction(event, now)))
            except InvalidInput as error:
                reject(outcomes[place], error.field, "INVALID", error.problem)
        recorded = await self._engine.record([event for _, event in good])
        for (place, _), outcome in zip(good, recorded.outcomes, strict=True):
            fill(outcomes[place], outcome)
        self._worker.recorded()
        return pb.RecordInteractionsResponse(outcomes=outcomes, sequence=max((o.sequence for o in outcomes), default=0))
