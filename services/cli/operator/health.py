"""`propagation health`: the health check of a container."""

import asyncio
import os

import typer

from services.cli.exits import ExitCode
from services.cli.options import LOOPBACK, Address

SECONDS = 3.0


def health(address: Address = LOOPBACK) -> None:
    """Ask the standard health service; needs no token.

    Exit code 0 if the service is serving, else 1 or 4.
    """
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from services.client.credentials import Credentials
    from services.client.stub import explain_failure

    async def ask() -> bool:
        async with Credentials.from_environment(os.environ).channel(address) as channel:
            try:
                stub = health_pb2_grpc.HealthStub(channel)
                answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=SECONDS)
            except grpc.aio.AioRpcError as error:
                raise explain_failure(error, address) from error
            return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    serving = asyncio.run(ask())
    print("serving" if serving else "not serving")
    if not serving:
        raise typer.Exit(ExitCode.WRONG)
