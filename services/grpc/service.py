"""The service: one mixin a topic."""

import grpc

from propagation.v1 import propagation_pb2_grpc as pb_grpc
from propagation.workflow.engine import Engine
from services.grpc.guard import Guard
from services.grpc.later import Later
from services.grpc.operating import Operating
from services.grpc.profiles import Profiles
from services.grpc.recommending import Recommending
from services.grpc.routers import Routers
from services.grpc.tracing import Tracing
from services.grpc.writing import Writing
from services.worker import Worker


class PropagationService(Writing, Profiles, Recommending, Routers, Tracing, Operating, Later,
                         pb_grpc.PropagationServiceServicer):
    """Every RPC of propagation.v1."""


def new_server(engine: Engine, worker: Worker, max_message_bytes: int) -> grpc.aio.Server:
    """A server without a port yet. Not started."""
    server = grpc.aio.server(interceptors=[Guard()], options=[("grpc.max_receive_message_length", max_message_bytes)])
    pb_grpc.add_PropagationServiceServicer_to_server(PropagationService(engine, worker), server)
    return server
