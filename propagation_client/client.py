"""The client of the preference propagation service."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

import grpc

from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from propagation_client.calls import CallRules
from propagation_client.credentials import Credentials
from propagation_client.messages import build_timestamp, new_event_id
from propagation_client.paging import batches, pages
from propagation_client.retries import Retries

DEFAULT_TIMEOUT = 10.0
PAGE_SIZE = 1_000


class PropagationClient:
    """A client of one service, for any number of concurrent calls.

    `async with PropagationClient("127.0.0.1:50051") as client: ...`

    The methods below are those that most applications need. `stub` has every call of the proto,
    with the same deadlines, retries and failures:
    `await client.stub.GetStatus(pb.GetStatusRequest())`.

    Deadlines: a call with all its attempts takes at most `timeout` seconds. Each call of the stub
    takes a timeout of its own, and so do all methods but the iterators. RunRound, EvolveRouters,
    ForgetClient and ExportClient take as long as there is work; they have at least an hour.
    WatchPropagation and StreamInteractions have no deadline.

    Retries: a call that fails with UNAVAILABLE or ABORTED is tried again until its deadline. A call
    above the caller's rate limit is tried again after the wait that the service asks for. Streams
    and the four long calls are sent once.

    Failures: every failed call raises CallFailed, which is a grpc.aio.AioRpcError.

    Args:
        address: HOST:PORT of the service.
        credentials: A token and certificates; none are needed on loopback.
        timeout: Seconds for a call for which you name no timeout; None: no deadline.
        retries: The waits between attempts; None: each call is sent once.

    Attributes:
        stub: Every call of the proto.
        channel: The connection, for other stubs such as that of gRPC's health service.
        written_through: The largest sequence with which the service acknowledged a write of the
            methods below. Pass it as `min_sequence` of a read that must reflect all these writes.

    Raises:
        ValueError: The address is malformed, or the token would cross a network unencrypted.
        OSError: A file of the credentials is unreadable.
    """

    def __init__(
        self,
        address: str,
        credentials: Credentials = Credentials(),  # noqa: B008  # a value
        *,
        timeout: float | None = DEFAULT_TIMEOUT,
        retries: Retries | None = Retries(),  # noqa: B008  # a value
    ) -> None:
        rules = CallRules(address, timeout, retries)
        self.channel: grpc.aio.Channel = credentials.channel(address, rules.interceptors())
        self.stub: pb_grpc.PropagationServiceAsyncStub = pb_grpc.PropagationServiceStub(
            self.channel
        )
        self.written_through = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls that are running are cancelled."""
        await self.channel.close(None)

    async def record(
        self, interactions: Iterable[pb.Interaction], *, timeout: float | None = None
    ) -> pb.RecordInteractionsResponse:
        """Record events in their order, durably.

        You may give any number of events. They are sent in calls of at most 500, each durable
        before the next.

        An event without an id gets one here, in the message itself. So it counts once, however
        often it is sent: by the retries, or by you after a failure. If an attempt stored an event
        but its answer was lost, the next attempt gives the event the outcome DUPLICATE.

        Args:
            interactions: See `interaction`.
            timeout: Seconds for each call.

        Returns:
            One outcome for each event, in order, and the largest sequence. A rejected event raises
            nothing: its outcome names the field and the problem.
        """
        answer = pb.RecordInteractionsResponse()
        for batch in batches(_with_ids(interactions)):
            request = pb.RecordInteractionsRequest(interactions=batch)
            recorded = await self.stub.RecordInteractions(request, timeout=timeout)
            answer.outcomes.extend(recorded.outcomes)
            answer.sequence = max(answer.sequence, recorded.sequence)
            self._note(recorded.sequence)
        return answer

    async def upsert(
        self, clients: Iterable[pb.Client], *, timeout: float | None = None
    ) -> pb.UpsertClientsResponse:
        """Create or change users and items.

        Fields that are set are written, others are kept. You may give any number of clients. They
        are sent in calls of at most 500, each durable before the next. To upsert the same clients
        again changes nothing.

        Args:
            timeout: Seconds for each call.

        Returns:
            One outcome for each client, in order, and the largest sequence.
        """
        answer = pb.UpsertClientsResponse()
        for batch in batches(clients):
            request = pb.UpsertClientsRequest(clients=batch)
            written = await self.stub.UpsertClients(request, timeout=timeout)
            answer.outcomes.extend(written.outcomes)
            answer.sequence = max(answer.sequence, written.sequence)
            self._note(written.sequence)
        return answer

    async def retract(
        self, event_ids: Sequence[str], *, timeout: float | None = None
    ) -> pb.RetractInteractionsResponse:
        """Take events back, with everything that they wrote.

        All go in one commit, at most 1,000.

        Returns:
            One outcome for each id. If an attempt took an event back but its answer was lost, the
            next attempt gives the event the reason RETRACTED.
        """
        request = pb.RetractInteractionsRequest(event_ids=event_ids)
        answer = await self.stub.RetractInteractions(request, timeout=timeout)
        self._note(answer.sequence)
        return answer

    async def recommend(
        self,
        user_id: str,
        *,
        limit: int | None = None,
        candidate_ids: Iterable[str] = (),
        attributes: Iterable[str] = (),
        categories: Iterable[str] = (),
        exclude_seen: bool | None = None,
        ranker: pb.Ranker.ValueType = pb.RANKER_UNSPECIFIED,
        explain: bool = False,
        propagate: bool | None = None,
        min_sequence: int | None = None,
        timeout: float | None = None,
    ) -> pb.RecommendResponse:
        """Rank the catalogue, or the candidates, for a user.

        The user may be unknown.

        Args:
            limit: The number of items; None: 10.
            candidate_ids: Rank these items only.
            attributes: Only items with at least one of these.
            categories: Only items in at least one of these.
            exclude_seen: Leave out items that the user has chosen; None: yes.
            ranker: Rank by the numbers, or by the reasoner; unspecified: by the numbers.
            explain: Whether each score comes with its parts.
            propagate: Rank with or without propagation; None: as the service is set.
            min_sequence: Wait until the numbers reflect this write (`written_through`, or the
                `sequence` of an answer), for at most the timeout.
        """
        request = pb.RecommendRequest(
            user_id=user_id,
            limit=limit,
            candidate_ids=candidate_ids,
            attributes=attributes,
            categories=categories,
            exclude_seen=exclude_seen,
            ranker=ranker,
            explain=explain,
            min_sequence=min_sequence,
            propagate=propagate,
        )
        return await self.stub.Recommend(request, timeout=timeout)

    async def profile(
        self,
        key: pb.ClientKey,
        *,
        merged: bool = False,
        as_of: pb.AsOf | None = None,
        propagate: bool | None = None,
        min_sequence: int | None = None,
        timeout: float | None = None,
    ) -> pb.GetProfileResponse:
        """Read a user's or item's profile: its lines with their sources.

        Args:
            key: See `user_key` and `item_key`.
            merged: Merge waiting messages first; this may take a language model's time.
            as_of: Read the profile as it was at this sequence or time; None: now.
            propagate: Show lines from reception and waiting messages; None: as the service is set.
            min_sequence: Wait until the numbers, and with `merged` the texts, reflect this write.
        """
        request = pb.GetProfileRequest(
            key=key,
            freshness=pb.FRESHNESS_MERGED if merged else pb.FRESHNESS_CACHED,
            min_sequence=min_sequence,
            as_of=as_of,
            propagate=propagate,
        )
        return await self.stub.GetProfile(request, timeout=timeout)

    async def similar(
        self,
        key: pb.ClientKey,
        *,
        kind: pb.ClientKind.ValueType = pb.CLIENT_KIND_UNSPECIFIED,
        by: pb.Similarity.ValueType = pb.SIMILARITY_UNSPECIFIED,
        limit: int | None = None,
        min_sequence: int | None = None,
        timeout: float | None = None,
    ) -> pb.SimilarClientsResponse:
        """Find the nearest users or items of a client.

        Args:
            key: See `user_key` and `item_key`.
            kind: The kind of the neighbours; unspecified: the client's own.
            by: What to compare; unspecified: profiles.
            limit: The number of neighbours; None: 10.
            min_sequence: Wait until the numbers reflect this write.
        """
        request = pb.SimilarClientsRequest(
            key=key, kind=kind, by=by, limit=limit, min_sequence=min_sequence
        )
        return await self.stub.SimilarClients(request, timeout=timeout)

    async def routers(
        self,
        bank: pb.Bank.ValueType = pb.BANK_UNSPECIFIED,
        *,
        as_of: pb.AsOf | None = None,
        member: pb.ClientKey | None = None,
    ) -> AsyncIterator[pb.Router]:
        """Iterate over the routers of a bank, or of both, by number.

        Each page is fetched when it is needed.

        Args:
            bank: The bank; unspecified: both.
            as_of: Reads the routers as they were.
            member: Only taste routers whose table holds this client now.
        """
        request = pb.ListRoutersRequest(bank=bank, page_size=PAGE_SIZE, as_of=as_of, member=member)
        async for page in pages(self.stub.ListRouters, request):
            for router in page.routers:
                yield router

    async def members(
        self,
        router: int,
        bank: pb.Bank.ValueType = pb.BANK_UNSPECIFIED,
        *,
        as_of: pb.AsOf | None = None,
    ) -> AsyncIterator[pb.RouterMember]:
        """Iterate over a router's members, highest score first.

        `as_of` reads the members as they were.
        """
        request = pb.GetRouterRequest(number=router, bank=bank, page_size=PAGE_SIZE, as_of=as_of)
        async for page in pages(self.stub.GetRouter, request):
            for member in page.members:
                yield member

    async def evolution_runs(self) -> AsyncIterator[pb.EvolutionRun]:
        """Iterate over the evolution runs, the newest first."""
        request = pb.ListEvolutionRunsRequest()
        async for page in pages(self.stub.ListEvolutionRuns, request):
            for run in page.runs:
                yield run

    async def search(
        self, kind: pb.ClientKind.ValueType, text: str, *, lines: bool = False
    ) -> AsyncIterator[pb.SearchClientsResponse.Found]:
        """Iterate over the users or items that a text finds.

        Each page is fetched when it is needed.

        Args:
            kind: CLIENT_KIND_USER or CLIENT_KIND_ITEM.
            text: An id, or the first letters of words of the title, attributes or categories.
            lines: Search the lines of profiles instead, each for all words.
        """
        request = pb.SearchClientsRequest(kind=kind, text=text, lines=lines, page_size=PAGE_SIZE)
        async for page in pages(self.stub.SearchClients, request):
            for found in page.clients:
                yield found

    async def events(self, key: pb.ClientKey) -> AsyncIterator[pb.ClientEvent]:
        """Iterate over a client's events, newest first.

        Those that were taken back are among them.
        """
        request = pb.ListClientEventsRequest(key=key, page_size=PAGE_SIZE)
        async for page in pages(self.stub.ListClientEvents, request):
            for event in page.events:
                yield event

    async def profile_versions(self, key: pb.ClientKey) -> AsyncIterator[pb.ProfileVersion]:
        """Iterate over the versions of a client's text, newest first.

        `profile` with `as_of=pb.AsOf(sequence=version.sequence)` reads one.
        """
        request = pb.ListProfileVersionsRequest(key=key)
        async for page in pages(self.stub.ListProfileVersions, request):
            for version in page.versions:
                yield version

    async def router_versions(self, router: int) -> AsyncIterator[pb.RouterVersion]:
        """Iterate over the versions of a taste router's text, newest first."""
        request = pb.ListRouterVersionsRequest(number=router)
        async for page in pages(self.stub.ListRouterVersions, request):
            for version in page.versions:
                yield version

    async def dead_letters(self, *, exchanges: bool = False) -> AsyncIterator[pb.DeadLetter]:
        """Iterate over dead letters, newest first.

        Args:
            exchanges: With what the model was asked last, and answered.
        """
        request = pb.ListDeadLettersRequest(exchanges=exchanges)
        async for page in pages(self.stub.ListDeadLetters, request):
            for letter in page.dead_letters:
                yield letter

    async def operations(
        self,
        kinds: Iterable[pb.OperationKind.ValueType] = (),
        *,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> AsyncIterator[pb.Operation]:
        """Iterate over rounds, evolution runs and other operations, newest first.

        Args:
            kinds: Only operations of these kinds; empty: of all kinds.
            since, until: Only operations in this range of time, `until` excluded; with a zone.
        """
        request = pb.ListOperationsRequest(
            kinds=kinds,
            since=build_timestamp(since),
            until=build_timestamp(until),
            page_size=PAGE_SIZE,
        )
        async for page in pages(self.stub.ListOperations, request):
            for operation in page.operations:
                yield operation

    async def measurements(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        by_day: bool = False,
        timeout: float | None = None,
    ) -> pb.GetMeasurementsResponse:
        """Read how the gauge and the cost of the language model developed.

        Args:
            since, until: Only periods that begin in this range of time, `until` excluded; with a
                zone.
            by_day: Join hours to days, in UTC.
        """
        request = pb.GetMeasurementsRequest(
            since=build_timestamp(since), until=build_timestamp(until), by_day=by_day
        )
        return await self.stub.GetMeasurements(request, timeout=timeout)

    def _note(self, sequence: int) -> None:
        self.written_through = max(self.written_through, sequence)


def _with_ids(interactions: Iterable[pb.Interaction]) -> Iterator[pb.Interaction]:
    for event in interactions:
        if not event.event_id:
            event.event_id = new_event_id()
        yield event
