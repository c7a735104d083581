"""Recommend and SimilarClients."""

from dataclasses import replace

from propagation.model.clients.client import ClientKind
from propagation.model.errors import InvalidInput
from propagation.model.routers.epoch import BankName
from propagation.model.validation import check_id
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.read.explanation import Explanation
from propagation.workflow.read.reasoner_ranking import RERANKED_ITEMS
from propagation.workflow.read.recommend import Recommended, RecommendRequest
from propagation.workflow.read.similar_clients import By
from services.grpc.convert.vocabulary import key_to_proto, message_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.validation import KINDS, checked_key
from services.security.roles import Role, current_caller

LIMIT, LIMIT_MAX = 10, 1_000
CANDIDATES_MAX = 10_000
FILTERS_MAX = 64
BANKS = {BankName.SESSION: pb.BANK_SESSION, BankName.TASTE: pb.BANK_TASTE}
SIMILARITIES: dict[int, By] = {
    pb.SIMILARITY_UNSPECIFIED: "profile",
    pb.SIMILARITY_PROFILE: "profile",
    pb.SIMILARITY_ROUTERS: "routers",
}


class Recommending(Servicer):
    """Ranked items, and neighbours."""

    async def Recommend(
        self, request: pb.RecommendRequest, context: Context
    ) -> pb.RecommendResponse:
        wish = self._wish(request)
        if request.HasField("min_sequence"):
            await self._wait_for(request.min_sequence, context)
        by_reasoner = request.ranker == pb.RANKER_REASONER
        answer = await self._engine.recommend(
            replace(wish, limit=max(wish.limit, RERANKED_ITEMS)) if by_reasoner else wish
        )
        if by_reasoner:
            answer = await self._engine.rerank(wish.user_id, answer, self._seconds_left(context))
            answer = replace(answer, items=answer.items[: wish.limit])
        return pb.RecommendResponse(
            recommendations=[_recommendation(item) for item in answer.items],
            reflects=await self._reflecting(answer.applied_through),
            ranked_by=pb.RANKER_REASONER if answer.by_reasoner else pb.RANKER_NUMBERS,
            cold=answer.cold,
            unknown_candidate_ids=answer.unknown,
        )

    async def SimilarClients(
        self, request: pb.SimilarClientsRequest, context: Context
    ) -> pb.SimilarClientsResponse:
        key = checked_key(request.key, "key")
        limit = _limit(request)
        by = SIMILARITIES.get(request.by)
        if by is None:
            raise InvalidInput(
                "by", f"is {request.by}; give SIMILARITY_PROFILE, SIMILARITY_ROUTERS, or nothing"
            )
        if request.kind and request.kind not in KINDS:
            raise InvalidInput(
                "kind", f"is {request.kind}; give CLIENT_KIND_USER, CLIENT_KIND_ITEM, or nothing"
            )
        kind = KINDS[request.kind] if request.kind else key.kind
        if kind == ClientKind.USER:
            current_caller().require(Role.ANALYST, "SimilarClients of users")
        if request.HasField("min_sequence"):
            await self._wait_for(request.min_sequence, context)
        ref = await self._ref(key)
        answer = await self._engine.neighbours(ref, kind, by, limit)
        return pb.SimilarClientsResponse(
            neighbours=[
                pb.SimilarClientsResponse.Neighbour(
                    key=key_to_proto(client.key), title=client.title, similarity=cosine
                )
                for client, cosine in answer.clients
            ],
            reflects=await self._reflecting(answer.applied_through),
        )

    def _wish(self, request: pb.RecommendRequest) -> RecommendRequest:
        for field, names in (
            ("attributes", request.attributes),
            ("categories", request.categories),
        ):
            if len(names) > FILTERS_MAX:
                raise InvalidInput(field, f"has {len(names)} values; at most {FILTERS_MAX}")
        if request.ranker not in (pb.RANKER_UNSPECIFIED, pb.RANKER_NUMBERS, pb.RANKER_REASONER):
            raise InvalidInput(
                "ranker", f"is {request.ranker}; give RANKER_NUMBERS, RANKER_REASONER, or nothing"
            )
        settings = self._engine.settings
        return RecommendRequest(
            user_id=check_id(request.user_id, "user_id"),
            limit=_limit(request),
            candidates=_candidates(request),
            attributes=request.attributes,
            categories=request.categories,
            explain=request.explain,
            exclude_seen=request.exclude_seen if request.HasField("exclude_seen") else True,
            propagate=request.propagate if request.HasField("propagate") else settings.propagate,
        )

    async def _reflecting(self, applied_through: int) -> pb.Reflects:
        """What the read itself saw, not what the view has reached since."""
        return pb.Reflects(
            applied_through=applied_through,
            reasoned_through=await self._engine.reasoned_through(),
        )


def _limit(request: pb.RecommendRequest | pb.SimilarClientsRequest) -> int:
    limit = request.limit if request.HasField("limit") else LIMIT
    if not 1 <= limit <= LIMIT_MAX:
        raise InvalidInput(
            "limit", f"is {limit}; give 1 to {LIMIT_MAX}, or leave it out for {LIMIT}"
        )
    return limit


def _candidates(request: pb.RecommendRequest) -> list[str] | None:
    if not request.candidate_ids:
        return None
    if len(request.candidate_ids) > CANDIDATES_MAX:
        raise InvalidInput(
            "candidate_ids", f"has {len(request.candidate_ids)} ids; at most {CANDIDATES_MAX}"
        )
    return [
        check_id(name, f"candidate_ids[{place}]")
        for place, name in enumerate(request.candidate_ids)
    ]


def _recommendation(item: Recommended) -> pb.Recommendation:
    if item.explanation is None:
        return pb.Recommendation(item_id=item.item_id, title=item.title, score=item.score)
    return pb.Recommendation(
        item_id=item.item_id,
        title=item.title,
        score=item.score,
        explanation=_explanation(item.explanation),
    )


def _explanation(explanation: Explanation) -> pb.Explanation:
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
