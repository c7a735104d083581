"""Recommend, and recommended items with their explanations."""

from dataclasses import replace

from propagation.model import check_id, check_list
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.read.explanation import Explanation
from propagation.workflow.read.reasoner_ranking import RERANKED_ITEMS
from propagation.workflow.read.recommend import RecommendRequest
from services.grpc.convert import BANKS, message_to_proto
from services.grpc.handlers.servicer import Context, Servicer, count_seconds_left
from services.grpc.requests import check_count, parse_choice, parse_limit
from services.runtime.process import SystemClock
from services.security.roles import Role

BY_REASONER = {
    pb.RANKER_UNSPECIFIED: False,
    pb.RANKER_NUMBERS: False,
    pb.RANKER_REASONER: True,
}


def _explanation_to_proto(explanation: Explanation) -> pb.Explanation:
    return pb.Explanation(
        parts=[
            pb.ScorePart(
                feature=part.feature.name.lower(),
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
        history=[
            pb.HistoryShare(
                item_id=part.item_id,
                title=part.title,
                long_run=part.long_run,
                session=part.session,
            )
            for part in explanation.history
        ],
        near_taste=[
            pb.NearItem(item_id=near.item_id, title=near.title, cosine=near.cosine)
            for near in explanation.near_taste
        ],
        history_rest=explanation.history_rest,
    )


class RecommendHandler(Servicer):
    """Ranks items for a user, by the numbers or by the reasoner."""

    async def Recommend(
        self, request: pb.RecommendRequest, context: Context
    ) -> pb.RecommendResponse:
        query = self._parse(request)
        by_reasoner = parse_choice(
            request.ranker, "ranker", BY_REASONER, "RANKER_NUMBERS, RANKER_REASONER, or nothing"
        )
        await self._wait_for(request, context)
        answer = await self._engine.recommend(
            replace(query, limit=max(query.limit, RERANKED_ITEMS)) if by_reasoner else query
        )
        if by_reasoner:
            answer = await self._engine.rerank(query.user_id, answer, count_seconds_left(context))
        return pb.RecommendResponse(
            recommendations=[
                pb.Recommendation(
                    item_id=item.item_id,
                    title=item.title,
                    score=item.score,
                    explanation=_explanation_to_proto(item.explanation)
                    if item.explanation
                    else None,
                )
                for item in answer.items[: query.limit]
            ],
            reflects=await self._build_reflects(
                exact=False, applied_through=answer.applied_through
            ),
            ranked_by=pb.RANKER_REASONER if answer.by_reasoner else pb.RANKER_NUMBERS,
            cold=answer.cold,
            unknown_candidate_ids=answer.unknown,
        )

    def _parse(self, request: pb.RecommendRequest) -> RecommendRequest:
        check_count(request.candidate_ids, "candidate_ids", limit=10_000)
        candidates = [
            check_id(name, f"candidate_ids[{place}]")
            for place, name in enumerate(request.candidate_ids)
        ]
        return RecommendRequest(
            user_id=check_id(request.user_id, "user_id"),
            limit=parse_limit(request, "limit", default=10),
            candidates=candidates or None,
            attributes=check_list(request.attributes, "attributes"),
            categories=check_list(request.categories, "categories"),
            explain=request.explain,
            exclude_seen=request.exclude_seen if request.HasField("exclude_seen") else True,
            propagate=self._should_propagate(request),
            least_users=self._get_least_users(Role.PERSONS),
            now=SystemClock().now_ms() / 1_000,
        )
