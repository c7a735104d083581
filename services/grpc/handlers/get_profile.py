"""GetProfile."""

from propagation.model.errors import InvalidInput
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.profile_reader import ProfileReading
from services.grpc.convert.profiles import profile_to_proto
from services.grpc.convert.references import facts_of
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.as_of import as_of
from services.grpc.requests.validation import checked_key
from services.security.roles import current_caller

FRESHNESS = (pb.FRESHNESS_UNSPECIFIED, pb.FRESHNESS_CACHED, pb.FRESHNESS_MERGED)


class Profiles(Servicer):
    """A client's text: as it stands, merged first, or as it was."""

    async def GetProfile(
        self, request: pb.GetProfileRequest, context: Context
    ) -> pb.GetProfileResponse:
        key = checked_key(request.key, "key")
        if request.freshness not in FRESHNESS:
            raise InvalidInput(
                "freshness",
                f"is {request.freshness}; give FRESHNESS_CACHED, FRESHNESS_MERGED, or nothing",
            )
        merged = request.freshness == pb.FRESHNESS_MERGED
        if merged and request.HasField("as_of"):
            raise InvalidInput(
                "as_of", "does not go with FRESHNESS_MERGED; the past cannot be merged into"
            )
        if request.HasField("min_sequence"):
            await self._wait_for(request.min_sequence, context, texts=merged)
        reflects = await self._reflects(exact=merged)
        reading = await self._read(await self._ref(key), request, merged)
        propagate = (
            request.propagate if request.HasField("propagate") else self._engine.settings.propagate
        )
        facts = await facts_of(self._engine.store, current_caller(), reading.text.profile.lines)
        return pb.GetProfileResponse(
            profile=profile_to_proto(reading, facts, propagate=propagate), reflects=reflects
        )

    async def _read(self, ref: int, request: pb.GetProfileRequest, merged: bool) -> ProfileReading:
        if request.HasField("as_of"):
            at = await as_of(request, self._engine.past)
            return await self._engine.profile(ref, as_of=at)
        if merged:
            return await self._engine.merged_profile(ref)
        reading = await self._engine.profile(ref)
        if reading.waiting:
            self._worker.merge_behind(ref)
        return reading
