"""The RPCs: check, ask the engine, convert. Nothing is decided here."""

import time

import grpc

from propagation.model.errors import InvalidInput, NotFound
from propagation.model.interaction import NewInteraction, RecordOutcome, RecordStatus
from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from propagation.workflow.engine import Engine
from services.grpc.check import checked_change, checked_interaction, checked_key
from services.grpc.convert import key_to_proto, profile_to_proto
from services.worker import Worker


class PropagationService(pb_grpc.PropagationServiceServicer):
    def __init__(self, engine: Engine, worker: Worker) -> None:
        self._engine = engine
        self._worker = worker

    async def UpsertClients(self, request, context):
        changes = [checked_change(client, f"clients[{place}]") for place, client in enumerate(request.clients)]
        outcomes = await self._engine.upsert_clients(changes)
        self._worker.recorded()
        return pb.UpsertClientsResponse(
            outcomes=[pb.UpsertClientsResponse.Outcome(key=key_to_proto(change.key), created=outcome.created,
                                                       changed=outcome.changed, sequence=outcome.sequence)
                      for change, outcome in zip(changes, outcomes, strict=True)],
            sequence=max((outcome.sequence for outcome in outcomes), default=0))

    async def RecordInteractions(self, request, context):
        outcomes = [pb.InteractionOutcome(event_id=event.event_id) for event in request.interactions]
        good: list[tuple[int, NewInteraction]] = []
        now = time.time_ns() // 1_000_000
        for place, event in enumerate(request.interactions):
            try:
                good.append((place, checked_interaction(event, now)))
            except InvalidInput as error:
                _reject(outcomes[place], error.field, "INVALID", error.problem)
        recorded = await self._engine.record([event for _, event in good])
        for (place, _), outcome in zip(good, recorded.outcomes, strict=True):
            _fill(outcomes[place], outcome)
        self._worker.recorded()
        return pb.RecordInteractionsResponse(outcomes=outcomes, sequence=max((o.sequence for o in outcomes), default=0))

    async def GetProfile(self, request, context):
        key = checked_key(request.key, "key")
        (ref,) = await self._engine.store.find_refs([key])
        if ref is None:
            raise NotFound(key.kind.name.lower(), key.id)
        (client,) = await self._engine.store.get_clients([ref])
        text = (await self._engine.store.load_texts([ref]))[ref]
        return pb.GetProfileResponse(profile=profile_to_proto(client, text), reflects=await self._reflects())

    async def RunRound(self, request, context):
        if request.drain:
            await self._engine.drain()
        done = await self._worker.run_round()
        if done is None:
            return pb.RunRoundResponse(note="nothing had changed")
        return pb.RunRoundResponse(round=pb.RoundReport(
            number=done.number, sequence=done.sequence, boundary=done.boundary, changed_clients=done.changed,
            touched_routers=done.touched, edges_opened=done.edges_opened, edges_closed=done.edges_closed,
            reached_clients=done.reached))

    async def _reflects(self) -> pb.Reflects:
        return pb.Reflects(applied_through=self._engine.numbers.view.applied_through,
                           reasoned_through=await self._engine.store.reasoned_through())


REASONS = {RecordStatus.CONFLICT: ("event_id", "CONFLICT", "was used before with other content; give this event its own id"),
           RecordStatus.UNKNOWN_USER: ("user_id", "UNKNOWN", "is not known; upsert the user first, or turn on auto_create"),
           RecordStatus.UNKNOWN_ITEM: ("item_id", "UNKNOWN", "is not known; upsert the item first, or turn on auto_create"),
           RecordStatus.UNKNOWN_NEGATIVE: ("negative_item_id", "UNKNOWN", "is not known; upsert the item first"),
           RecordStatus.FORGOTTEN: ("event_id", "FORGOTTEN", "was erased with its client")}


def _reject(outcome: pb.InteractionOutcome, field: str, reason: str, detail: str) -> None:
    outcome.status = pb.INTERACTION_STATUS_REJECTED
    outcome.field, outcome.reason, outcome.detail = field, reason, detail


def _fill(outcome: pb.InteractionOutcome, recorded: RecordOutcome) -> None:
    outcome.sequence = recorded.sequence
    if recorded.status == RecordStatus.ACCEPTED:
        outcome.status = pb.INTERACTION_STATUS_ACCEPTED
    elif recorded.status == RecordStatus.DUPLICATE:
        outcome.status = pb.INTERACTION_STATUS_DUPLICATE
    else:
        _reject(outcome, *REASONS[recorded.status])


def new_server(engine: Engine, worker: Worker, max_message_bytes: int) -> grpc.aio.Server:
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", max_message_bytes)])
    pb_grpc.add_PropagationServiceServicer_to_server(PropagationService(engine, worker), server)
    return server
