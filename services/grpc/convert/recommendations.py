"""Recommended items with their explanations."""

from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.read.explanation import Explanation
from propagation.workflow.read.recommend import Recommended
from services.grpc.convert.vocabulary import BANKS, message_to_proto


def recommendation_to_proto(item: Recommended) -> pb.Recommendation:
    """Convert a recommended item."""
    return pb.Recommendation(
        item_id=item.item_id,
        title=item.title,
        score=item.score,
        explanation=_explanation_to_proto(item.explanation) if item.explanation else None,
    )


def _explanation_to_proto(explanation: Explanation) -> pb.Explanation:
    return pb.Explanation(
        parts=[
            pb.ScorePart(
                feature=part.feature,
                raw=part.raw,
                value=part.value,
                weight=part.weight,
                product=part.product,
            )
            for part in explanation.parts
        ],
        routers=[
            pb.RouterShare(
                router=part.router,
                bank=BANKS[part.bank],
                name=part.name,
                share=part.share,
                lift=part.lift,
                adopters=part.adopters,
            )
            for part in explanation.routers
        ],
        messages=[message_to_proto(message) for message in explanation.messages],
        text=explanation.text,
    )
