"""The service: one mixin a topic."""

from collections.abc import Sequence

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from services.config.path_redaction import PathRedaction
from services.grpc.handlers.forget_client import Forgetting
from services.grpc.handlers.get_profile import Profiles
from services.grpc.handlers.get_status import Operating
from services.grpc.handlers.recommend import Recommending
from services.grpc.handlers.record_interactions import Streaming
from services.grpc.handlers.rounds_and_evolution import Evolving
from services.grpc.handlers.routers import Routers
from services.grpc.handlers.trace_propagation import Tracing
from services.grpc.handlers.upsert_clients import Writing
from services.grpc.handlers.watch_propagation import Watching
from services.grpc.interceptor import Guard
from services.runtime.measurements import Timings
from services.runtime.readiness import Readiness
from services.security.admission import Admission
from services.worker.call_priority import CallPriority

NAME = pb.DESCRIPTOR.services_by_name["PropagationService"].full_name
LONGEST_IDLE_MS = 120_000
SHORTEST_PING_MS = 10_000
CALLS_A_CONNECTION = 1_000


class PropagationService(
    Writing,
    Streaming,
    Profiles,
    Recommending,
    Routers,
    Tracing,
    Watching,
    Operating,
    Evolving,
    Forgetting,
    pb_grpc.PropagationServiceServicer,
):
    """Every RPC of propagation.v1."""


class Health:
    """The standard health service: for the server as a whole ("") and for ours by name."""

    def __init__(self, server: grpc.aio.Server) -> None:
        self._servicer = health.aio.HealthServicer()  # type: ignore[attr-defined]  # its stubs leave aio out
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, server)

    async def not_serving(self) -> None:
        """For now."""
        await self._say(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def serving(self) -> None:
        await self._say(health_pb2.HealthCheckResponse.SERVING)

    async def report_store(self, reachable: bool) -> None:
        """NOT_SERVING while the graph's server does not answer: another replica may reach it."""
        await (self.serving() if reachable else self.not_serving())

    async def _say(self, status: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        for name in ("", NAME):
            await self._servicer.set(name, status)

    async def stopping(self) -> None:
        """NOT_SERVING from now on; nothing turns it back."""
        await self._servicer.enter_graceful_shutdown()


def new_server(
    service: PropagationService,
    priority: CallPriority,
    timings: Timings,
    admission: Admission,
    readiness: Readiness,
    max_message_bytes: int,
    redaction: PathRedaction,
    before: Sequence[grpc.aio.ServerInterceptor] = (),  # type: ignore[type-arg]
) -> grpc.aio.Server:  # its stubs'
    """A server of `service` with reflection. Not started, no port yet. `before`: what every call
    passes first."""
    server = grpc.aio.server(
        interceptors=[*before, Guard(priority, timings, admission, readiness, redaction)],
        options=[
            ("grpc.max_concurrent_streams", CALLS_A_CONNECTION),
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.max_send_message_length", max_message_bytes),
            ("grpc.so_reuseport", 0),
            ("grpc.keepalive_time_ms", LONGEST_IDLE_MS),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", SHORTEST_PING_MS),
        ],
    )
    pb_grpc.add_PropagationServiceServicer_to_server(service, server)
    reflection.enable_server_reflection(
        (NAME, health.SERVICE_NAME, reflection.SERVICE_NAME), server
    )
    return server
