"""SimilarClients."""

from propagation.model import ClientKind
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.read.similar_clients import By
from services.grpc.convert.vocabulary import key_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.validation import KINDS, parse_choice, parse_key, parse_limit
from services.security.roles import Role, current_caller

LIMIT = 10
SIMILARITIES: dict[int, By] = {
    pb.SIMILARITY_UNSPECIFIED: "profile",
    pb.SIMILARITY_PROFILE: "profile",
    pb.SIMILARITY_ROUTERS: "routers",
}


class SimilarClientsHandler(Servicer):
    """Finds the nearest clients of a client."""

    async def SimilarClients(
        self, request: pb.SimilarClientsRequest, context: Context
    ) -> pb.SimilarClientsResponse:
        key = parse_key(request.key, "key")
        limit = parse_limit(request, "limit", LIMIT)
        by = parse_choice(
            request.by, "by", SIMILARITIES, "SIMILARITY_PROFILE, SIMILARITY_ROUTERS, or nothing"
        )
        kind = parse_choice(
            request.kind,
            "kind",
            KINDS | {pb.CLIENT_KIND_UNSPECIFIED: key.kind},
            "CLIENT_KIND_USER, CLIENT_KIND_ITEM, or nothing",
        )
        if kind == ClientKind.USER:
            current_caller().require(Role.ANALYST, "SimilarClients of users")
        await self._wait_for(request, context)
        ref = await self._engine.find_ref(key)
        answer = await self._engine.neighbours(ref, kind, by, limit)
        return pb.SimilarClientsResponse(
            neighbours=[
                pb.SimilarClientsResponse.Neighbour(
                    key=key_to_proto(client.key), title=client.title, similarity=cosine
                )
                for client, cosine in answer.clients
            ],
            reflects=await self._reflects(exact=False, applied_through=answer.applied_through),
        )
