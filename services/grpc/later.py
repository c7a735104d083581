"""RPCs of the proto that a later release brings."""

from collections.abc import AsyncGenerator
from typing import NoReturn

from propagation.v1 import propagation_pb2 as pb
from services.errors import NotServed
from services.grpc.base import Context, Servicer

PRIVACY = "0.3"


def _not_served(rpc: str, release: str) -> NoReturn:
    raise NotServed(rpc, release)


class Later(Servicer):
    """Each answers UNIMPLEMENTED and names the release."""

    async def RetractInteractions(self, request: pb.RetractInteractionsRequest, context: Context) -> pb.RetractInteractionsResponse:
        _not_served("RetractInteractions", PRIVACY)

    async def ForgetClient(self, request: pb.ForgetClientRequest, context: Context) -> pb.ForgetClientResponse:
        _not_served("ForgetClient", PRIVACY)

    async def ExportClient(self, request: pb.ExportClientRequest,
                           context: Context) -> AsyncGenerator[pb.ExportClientResponse, None]:
        _not_served("ExportClient", PRIVACY)
        yield pb.ExportClientResponse()
