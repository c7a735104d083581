"""Events of a watch."""

from functools import partial

from propagation.model import EvolutionRun, Gap, NumberedMerge, Round, RouterVersion, kind_of
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.watch import WatchEvent
from services.grpc.convert.references import References
from services.grpc.convert.vocabulary import (
    CLIENT_KINDS,
    evolution_to_proto,
    message_to_proto,
    round_to_proto,
)

OUTCOMES = {
    "merged": pb.MERGE_OUTCOME_MERGED,
    "filtered": pb.MERGE_OUTCOME_FILTERED,
    "empty": pb.MERGE_OUTCOME_EMPTY,
    "fell out": pb.MERGE_OUTCOME_FELL_OUT,
}


def event_to_proto(event: WatchEvent, references: References) -> pb.WatchPropagationResponse:
    """Convert an event, without its resume token."""
    answer = partial(pb.WatchPropagationResponse, sequence=event.sequence)
    if isinstance(event, Round):
        return answer(kind=pb.PROPAGATION_EVENT_KIND_ROUND, round=round_to_proto(event))
    if isinstance(event, RouterVersion):
        return answer(kind=pb.PROPAGATION_EVENT_KIND_MESSAGE, message=message_to_proto(event))
    if isinstance(event, EvolutionRun):
        return answer(kind=pb.PROPAGATION_EVENT_KIND_EVOLUTION, evolution=evolution_to_proto(event))
    if isinstance(event, Gap):
        return answer(kind=pb.PROPAGATION_EVENT_KIND_GAP, missed=event.missed)
    return answer(kind=pb.PROPAGATION_EVENT_KIND_MERGE, merge=_merge_to_proto(event, references))


def _merge_to_proto(event: NumberedMerge, references: References) -> pb.MergeReport:
    merge = event.merge
    return pb.MergeReport(
        client=references.parties([merge.ref]),
        kind=CLIENT_KINDS[kind_of(merge.ref)],
        profile_version=merge.profile_version,
        router=merge.router,
        router_version=merge.router_version,
        outcome=OUTCOMES.get(merge.outcome, pb.MERGE_OUTCOME_UNSPECIFIED),
    )
