"""The predictions and the pace of a language model, for GetStatus."""

from collections.abc import Sequence

from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.reason.pace import PaceReading
from propagation.workflow.reason.prediction_log import PredictorRecord
from services.grpc.convert import time_to_proto


def predictors_to_proto(records: Sequence[PredictorRecord], predictor: str) -> list[pb.Predictor]:
    """Convert the recent predictions.

    Args:
        predictor: The name of the present predictor.
    """
    return [
        pb.Predictor(
            name=record.name,
            predictions=record.counts.predictions,
            right=record.counts.right,
            first_places=record.counts.first,
            share_right=record.counts.share_right,
            standard_error=record.counts.standard_error,
            share_first=record.counts.share_first,
            judgement=record.judgement,
            warning=record.warning,
            in_use=record.name == predictor,
        )
        for record in records
    ]


def pace_to_proto(pace: PaceReading, pending: int, now_ms: int) -> pb.ReasoningPace:
    """Convert the pace, and when the backlog will be done.

    Args:
        pending: The number of interactions that are not reasoned.
        now_ms: The present time in milliseconds since 1970.
    """
    done_at = now_ms + int(1_000 * pending / pace.per_second) if pace.per_second and pending else 0
    return pb.ReasoningPace(
        interactions=pace.interactions,
        seconds=pace.seconds,
        completion_tokens=pace.completion_tokens,
        per_hour=3_600 * pace.per_second if pace.per_second is not None else None,
        done_at=time_to_proto(done_at),
    )
