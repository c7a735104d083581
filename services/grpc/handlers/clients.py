"""Clients: UpsertClients, GetProfile, SimilarClients, ExportClient and ForgetClient."""

from collections.abc import AsyncGenerator

from propagation.model import ClientKey, ClientKind, InvalidInput
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.read.similar_clients import By
from services.grpc.convert import key_to_proto, profile_to_proto
from services.grpc.handlers.servicer import Context, Servicer, require_reading_of
from services.grpc.requests import (
    KINDS,
    check_count,
    parse_as_of,
    parse_choice,
    parse_client_change,
    parse_field_mask,
    parse_key,
    parse_limit,
)
from services.grpc.visibility import load_references
from services.security.roles import Role, admitted_caller

MERGES = {
    pb.FRESHNESS_UNSPECIFIED: False,
    pb.FRESHNESS_CACHED: False,
    pb.FRESHNESS_MERGED: True,
}
SIMILARITIES: dict[int, By] = {
    pb.SIMILARITY_UNSPECIFIED: "profile",
    pb.SIMILARITY_PROFILE: "profile",
    pb.SIMILARITY_ROUTERS: "routers",
}


class ClientsHandler(Servicer):
    """Creates and changes clients, reads their profiles and neighbours, and erases them."""

    async def UpsertClients(
        self, request: pb.UpsertClientsRequest, context: Context
    ) -> pb.UpsertClientsResponse:
        check_count(request.clients, "clients")
        mask = parse_field_mask(request.field_mask)
        changes = [
            parse_client_change(client, mask, f"clients[{place}]")
            for place, client in enumerate(request.clients)
        ]
        with self._worker.recording():
            outcomes = await self._engine.upsert_clients(changes) if changes else ()
        return pb.UpsertClientsResponse(
            outcomes=[
                pb.UpsertClientsResponse.Outcome(
                    key=key_to_proto(change.key),
                    created=outcome.created,
                    changed=outcome.changed,
                    sequence=outcome.sequence,
                )
                for change, outcome in zip(changes, outcomes, strict=True)
            ],
            sequence=max((outcome.sequence for outcome in outcomes), default=0),
        )

    async def GetProfile(
        self, request: pb.GetProfileRequest, context: Context
    ) -> pb.GetProfileResponse:
        """Read a client's present, merged or past profile."""
        key = parse_key(request.key, "key")
        require_reading_of(key, "GetProfile")
        merge = parse_choice(
            request.freshness, "freshness", MERGES, "FRESHNESS_CACHED, FRESHNESS_MERGED, or nothing"
        )
        if merge and request.HasField("as_of"):
            raise InvalidInput(
                "as_of",
                "cannot be combined with FRESHNESS_MERGED: a past profile merges no messages",
            )
        at = await parse_as_of(request, self._time_travel)
        await self._wait_for(request, context, texts=merge)
        reflects = await self._build_reflects(exact=merge)
        ref = await self._find_ref(key)
        reading = await self._engine.read_profile(ref, at, merge=merge)
        if reading.waiting:
            self._worker.queue_merge(ref)
        if not self._should_propagate(request):
            reading = reading.remove_messages()
        references = await load_references(
            self._engine,
            reading.text.profile.lines,
            refs=[ref],
            named=[ref],
            past=at is not None,
        )
        return pb.GetProfileResponse(
            profile=profile_to_proto(reading, references), reflects=reflects
        )

    async def SimilarClients(
        self, request: pb.SimilarClientsRequest, context: Context
    ) -> pb.SimilarClientsResponse:
        key = parse_key(request.key, "key")
        require_reading_of(key, "SimilarClients")
        limit = parse_limit(request, "limit", default=10)
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
            admitted_caller.get().require("SimilarClients among users", Role.ANALYST)
        await self._wait_for(request, context)
        ref = await self._find_ref(key)
        answer = await self._engine.find_similar(ref, kind, by, limit, self._get_least_users())
        return pb.SimilarClientsResponse(
            neighbours=[
                pb.SimilarClientsResponse.Neighbour(
                    key=key_to_proto(client.key), title=client.title, similarity=cosine
                )
                for client, cosine in answer.clients
            ],
            reflects=await self._build_reflects(
                exact=False, applied_through=answer.applied_through
            ),
        )

    async def ExportClient(
        self, request: pb.ExportClientRequest, context: Context
    ) -> AsyncGenerator[pb.ExportClientResponse, None]:
        async for line in self._engine.export_client(parse_key(request.key, "key")):
            yield pb.ExportClientResponse(json_line=line)

    async def ForgetClient(
        self, request: pb.ForgetClientRequest, context: Context
    ) -> pb.ForgetClientResponse:
        key = parse_key(request.key, "key")
        if request.dry_run:
            return await self._preview_erasure(key, request)
        done = await self._worker.run_uninterrupted(self._engine.forget(key, wipe=request.wipe))
        if request.wipe:
            await self._worker.note_run("wiping")
        return pb.ForgetClientResponse(
            sequence=done.sequence,
            events_erased=done.events_erased,
            lines_dropped=done.lines_dropped,
        )

    async def _preview_erasure(
        self, key: ClientKey, request: pb.ForgetClientRequest
    ) -> pb.ForgetClientResponse:
        if request.wipe:
            raise InvalidInput("wipe", "cannot be combined with dry_run, which changes nothing")
        found = await self._engine.preview_erasure(key)
        return pb.ForgetClientResponse(
            events_erased=found.events,
            lines_dropped=found.lines,
            router_texts=found.router_texts,
            items_erased=found.items_erased,
            as_of_sequence=found.sequence,
        )
