"""What a watcher is told, as the proto's messages."""

from collections.abc import Sequence

from propagation.model.clients.client import kind_of
from propagation.model.routers.evolution import EvolutionRun
from propagation.model.routers.round import Round
from propagation.model.routers.router import RouterVersion
from propagation.model.watch_events import Gap, NumberedMerge
from propagation.ports.graph.graph_store import GraphStore
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.watch import Position, WatchEvent
from services.grpc.convert.references import Facts, facts_of
from services.grpc.convert.vocabulary import KINDS, evolution_to_proto, message_to_proto
from services.grpc.handlers.get_status import round_to_proto
from services.grpc.requests.resume_tokens import Resuming
from services.security.roles import Caller

OUTCOMES = {
    "merged": pb.MERGE_OUTCOME_MERGED,
    "filtered": pb.MERGE_OUTCOME_FILTERED,
    "empty": pb.MERGE_OUTCOME_EMPTY,
    "fell out": pb.MERGE_OUTCOME_FELL_OUT,
}


async def answers_of(
    store: GraphStore,
    caller: Caller,
    told: Sequence[tuple[WatchEvent, Position]],
    resuming: Resuming,
) -> list[pb.WatchPropagationResponse]:
    """In their order, each with the token that goes on after it."""
    refs = [one.merge.ref for one, _ in told if isinstance(one, NumberedMerge)]
    facts = await facts_of(store, caller, (), refs)
    answers = [_answer(one, facts) for one, _ in told]
    for answer, (_, position) in zip(answers, told, strict=True):
        answer.resume_token = resuming.token(position)
    return answers


def _answer(told: WatchEvent, facts: Facts) -> pb.WatchPropagationResponse:
    if isinstance(told, Round):
        return pb.WatchPropagationResponse(
            kind=pb.PROPAGATION_EVENT_KIND_ROUND, sequence=told.sequence, round=round_to_proto(told)
        )
    if isinstance(told, RouterVersion):
        return pb.WatchPropagationResponse(
            kind=pb.PROPAGATION_EVENT_KIND_MESSAGE,
            sequence=told.sequence,
            message=message_to_proto(told),
        )
    if isinstance(told, EvolutionRun):
        return pb.WatchPropagationResponse(
            kind=pb.PROPAGATION_EVENT_KIND_EVOLUTION,
            sequence=told.sequence,
            evolution=evolution_to_proto(told),
        )
    if isinstance(told, Gap):
        return pb.WatchPropagationResponse(
            kind=pb.PROPAGATION_EVENT_KIND_GAP, sequence=told.sequence, missed=told.missed
        )
    merge = told.merge
    return pb.WatchPropagationResponse(
        kind=pb.PROPAGATION_EVENT_KIND_MERGE,
        sequence=told.sequence,
        merge=pb.MergeReport(
            client=facts.parties([merge.ref]),
            kind=KINDS[kind_of(merge.ref)],
            profile_version=merge.profile_version,
            router=merge.router,
            router_version=merge.router_version,
            outcome=OUTCOMES.get(merge.outcome, pb.MERGE_OUTCOME_UNSPECIFIED),
        ),
    )
