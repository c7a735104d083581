"""The gRPC server: all calls of propagation.v1, health and reflection."""

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from services.grpc.handlers.client_search import ClientSearchHandler
from services.grpc.handlers.clients import ClientsHandler
from services.grpc.handlers.get_status import GetStatusHandler
from services.grpc.handlers.history import HistoryHandler
from services.grpc.handlers.interactions import InteractionsHandler
from services.grpc.handlers.operator.dead_letters import DeadLettersHandler
from services.grpc.handlers.operator.get_settings import GetSettingsHandler
from services.grpc.handlers.recommend import RecommendHandler
from services.grpc.handlers.routers import RoutersHandler
from services.grpc.handlers.trace_propagation import TracePropagationHandler
from services.grpc.handlers.versions import VersionsHandler
from services.grpc.handlers.watch_propagation import WatchPropagationHandler
from services.grpc.interceptor import CallInterceptor

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["PropagationService"].full_name


class PropagationService(
    ClientsHandler,
    ClientSearchHandler,
    InteractionsHandler,
    RecommendHandler,
    RoutersHandler,
    VersionsHandler,
    TracePropagationHandler,
    WatchPropagationHandler,
    HistoryHandler,
    DeadLettersHandler,
    GetSettingsHandler,
    GetStatusHandler,
    pb_grpc.PropagationServiceServicer,
):
    """Every call of propagation.v1."""


class Health(health.aio.HealthServicer):  # type: ignore[misc,name-defined]  # its stubs leave aio out
    """The standard health service.

    It answers for the server as a whole (the name "") and for our service by name.
    """

    async def report_serving(self, serving: bool) -> None:
        """Report SERVING or NOT_SERVING."""
        response = health_pb2.HealthCheckResponse
        for name in ("", SERVICE_NAME):
            await self.set(name, response.SERVING if serving else response.NOT_SERVING)


def build_server(
    service: PropagationService,
    health_service: Health,
    interceptor: CallInterceptor,
    max_message_bytes: int,
) -> grpc.aio.Server:
    """Build a server with reflection, not started and without a port."""
    server = grpc.aio.server(
        interceptors=[interceptor],
        options=[
            ("grpc.max_concurrent_streams", 1_000),
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.max_send_message_length", max_message_bytes),
            ("grpc.so_reuseport", 0),
            ("grpc.keepalive_time_ms", 120_000),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
        ],
    )
    pb_grpc.add_PropagationServiceServicer_to_server(service, server)
    health_pb2_grpc.add_HealthServicer_to_server(health_service, server)
    reflection.enable_server_reflection(
        (SERVICE_NAME, health.SERVICE_NAME, reflection.SERVICE_NAME), server
    )
    return server
