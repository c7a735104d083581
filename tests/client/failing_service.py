"""A real gRPC server that fails on demand and keeps its requests."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RequestInfo

from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from services.grpc.status import DETAILS_KEY, DOMAIN, _build


@dataclass(frozen=True)
class Failure:
    """An answer other than OK, with details as the service sends them."""

    code: grpc.StatusCode
    text: str = "no"
    details: tuple = ()

    @classmethod
    def reason(cls, code, reason, **facts):
        return cls(
            code, f"it is {reason}", (ErrorInfo(reason=reason, domain=DOMAIN, metadata=facts),)
        )

    @classmethod
    def field(cls, name, problem):
        violation = BadRequest.FieldViolation(field=name, description=problem)
        return cls(
            grpc.StatusCode.INVALID_ARGUMENT,
            f"{name}: {problem}",
            (BadRequest(field_violations=[violation]),),
        )

    @classmethod
    def fault(cls, request_id):
        info = ErrorInfo(reason="INTERNAL", domain=DOMAIN)
        details = (info, RequestInfo(request_id=request_id))
        return cls(grpc.StatusCode.INTERNAL, "it failed", details)


STARTING = Failure.reason(grpc.StatusCode.UNAVAILABLE, "STARTING")


@dataclass
class FailingService(pb_grpc.PropagationServiceServicer):
    """Fails the next calls as `failures` say, and answers the others.

    Attributes:
        failures: Failures of the next calls, in order.
        requests: All requests, in order.
        metadata: The metadata of each call.
        seconds: How long each answer takes.
        entered: Is set by the first call.
        cancelled: Is set when a caller cancels its call.
        sequence: The last sequence that was given out.
    """

    failures: deque[Failure] = field(default_factory=deque)
    requests: list = field(default_factory=list)
    metadata: list[dict] = field(default_factory=list)
    seconds: float = 0.0
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    sequence: int = 0

    async def _enter(self, request, context):
        self.entered.set()
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if self.failures:
            failure = self.failures.popleft()
            trailing = ()
            if failure.details:
                _, status = _build(failure.code, failure.text, *failure.details)
                trailing = ((DETAILS_KEY, status.SerializeToString()),)
            await context.abort(failure.code, failure.text, trailing)

    async def RecordInteractions(self, request, context):  # noqa: N802 - the service's name
        await self._enter(request, context)
        answer = pb.RecordInteractionsResponse()
        for event in request.interactions:
            self.sequence += 1
            answer.outcomes.add(event_id=event.event_id, sequence=self.sequence)
        answer.sequence = self.sequence
        return answer

    async def UpsertClients(self, request, context):  # noqa: N802
        await self._enter(request, context)
        self.sequence += 1
        outcomes = [
            pb.UpsertClientsResponse.Outcome(key=client.key, created=True)
            for client in request.clients
        ]
        return pb.UpsertClientsResponse(outcomes=outcomes, sequence=self.sequence)

    async def Recommend(self, request, context):  # noqa: N802
        await self._enter(request, context)
        return pb.RecommendResponse()

    async def RunRound(self, request, context):  # noqa: N802
        await self._enter(request, context)
        return pb.RunRoundResponse()

    async def ListRouters(self, request, context):  # noqa: N802
        """List three pages of two routers."""
        await self._enter(request, context)
        first = int(request.page_token or 0)
        routers = [pb.Router(number=first + n) for n in range(2)]
        return pb.ListRoutersResponse(
            routers=routers, next_page_token=str(first + 2) if first < 4 else ""
        )

    async def SearchClients(self, request, context):  # noqa: N802
        """List three pages of one client."""
        await self._enter(request, context)
        first = int(request.page_token or 0)
        key = pb.ClientKey(kind=request.kind, id=f"c{first}")
        return pb.SearchClientsResponse(
            clients=[pb.SearchClientsResponse.Found(key=key)],
            next_page_token=str(first + 1) if first < 2 else "",
        )

    async def ListClientEvents(self, request, context):  # noqa: N802
        """List two pages of one event."""
        await self._enter(request, context)
        return pb.ListClientEventsResponse(
            events=[pb.ClientEvent(sequence=2 if not request.page_token else 1)],
            next_page_token="" if request.page_token else "second",
        )

    async def ListDeadLetters(self, request, context):  # noqa: N802
        """List two pages of one dead letter."""
        await self._enter(request, context)
        return pb.ListDeadLettersResponse(
            dead_letters=[pb.DeadLetter(sequence=2 if not request.page_token else 1)],
            next_page_token="" if request.page_token else "second",
        )

    async def ListProfileVersions(self, request, context):  # noqa: N802
        """List two pages of one version."""
        await self._enter(request, context)
        return pb.ListProfileVersionsResponse(
            versions=[pb.ProfileVersion(version=2 if not request.page_token else 1)],
            next_page_token="" if request.page_token else "second",
        )

    async def ListRouterVersions(self, request, context):  # noqa: N802
        """List two pages of one version."""
        await self._enter(request, context)
        return pb.ListRouterVersionsResponse(
            versions=[pb.RouterVersion(version=2 if not request.page_token else 1)],
            next_page_token="" if request.page_token else "second",
        )

    async def ListOperations(self, request, context):  # noqa: N802
        """List two pages of one operation."""
        await self._enter(request, context)
        return pb.ListOperationsResponse(
            operations=[pb.Operation(sequence=2 if not request.page_token else 1)],
            next_page_token="" if request.page_token else "second",
        )

    async def GetMeasurements(self, request, context):  # noqa: N802
        await self._enter(request, context)
        return pb.GetMeasurementsResponse()

    async def WatchPropagation(self, request, context):  # noqa: N802
        """Send one event, then the next failure."""
        yield pb.WatchPropagationResponse(sequence=1)
        await self._enter(request, context)

    async def StreamInteractions(self, requests, context):  # noqa: N802
        async for request in requests:
            await self._enter(request, context)
            yield pb.StreamInteractionsResponse(
                outcome=pb.InteractionOutcome(event_id=request.interaction.event_id)
            )


@asynccontextmanager
async def start_service(service: FailingService, port: int = 0) -> AsyncIterator[str]:
    """Serve on a loopback port; yield the address."""
    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    pb_grpc.add_PropagationServiceServicer_to_server(service, server)
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)
