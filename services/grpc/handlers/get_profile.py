"""GetProfile."""

from propagation.model import InvalidInput
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.profile_reader import ProfileReading
from services.grpc.convert.profiles import profile_to_proto
from services.grpc.convert.references import load_references
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.as_of import parse_as_of
from services.grpc.requests.validation import parse_choice, parse_key
from services.security.roles import current_caller

MERGES = {
    pb.FRESHNESS_UNSPECIFIED: False,
    pb.FRESHNESS_CACHED: False,
    pb.FRESHNESS_MERGED: True,
}


class GetProfileHandler(Servicer):
    """Reads a client's profile: as it is, merged first, or as it was."""

    async def GetProfile(
        self, request: pb.GetProfileRequest, context: Context
    ) -> pb.GetProfileResponse:
        key = parse_key(request.key, "key")
        merge = parse_choice(
            request.freshness, "freshness", MERGES, "FRESHNESS_CACHED, FRESHNESS_MERGED, or nothing"
        )
        if merge and request.HasField("as_of"):
            raise InvalidInput(
                "as_of", "cannot be combined with FRESHNESS_MERGED: the past takes no more messages"
            )
        at = await parse_as_of(request, self._engine.past)
        await self._wait_for(request, context, texts=merge)
        reflects = await self._reflects(exact=merge)
        reading = await self._read(await self._engine.find_ref(key), at, merge=merge)
        references = await load_references(
            self._engine.store, current_caller(), reading.text.profile.lines
        )
        return pb.GetProfileResponse(
            profile=profile_to_proto(reading, references, propagate=self._propagates(request)),
            reflects=reflects,
        )

    async def _read(self, ref: int, at: int | None, *, merge: bool) -> ProfileReading:
        if at is not None:
            return await self._engine.profile(ref, as_of=at)
        if merge:
            return await self._engine.merged_profile(ref)
        reading = await self._engine.profile(ref)
        if reading.waiting:
            self._worker.merge_later(ref)
        return reading
