"""GetProfile."""

from propagation.v1 import propagation_pb2 as pb
from services.grpc.base import Context, Servicer
from services.grpc.check import checked_key
from services.grpc.convert import profile_to_proto


class Profiles(Servicer):
    """A client's text as it stands."""

    async def GetProfile(self, request: pb.GetProfileRequest, context: Context) -> pb.GetProfileResponse:
        ref = await self._ref(checked_key(request.key, "key"))
        (client,) = await self._engine.store.get_clients([ref])
        text = (await self._engine.store.load_texts([ref]))[ref]
        return pb.GetProfileResponse(profile=profile_to_proto(client, text), reflects=await self._reflects())
