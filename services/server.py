"""The service as a process: opened, announced, stopped in order."""

import asyncio
import ipaddress
import signal
from collections.abc import Callable

from propagation.model.errors import PropagationError
from services.assembly import laptop_engine
from services.grpc.service import new_server
from services.settings import ServerSettings, Settings
from services.worker import Worker


class CannotBind(PropagationError):
    """The address is taken, does not exist, or is not allowed."""


async def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Until SIGTERM or SIGINT: stops taking calls, lets running ones finish, stops the worker, closes the store."""
    check_address(settings.server)
    engine = laptop_engine(settings)
    await engine.open()
    worker = Worker(engine)
    worker.start()
    try:
        await _run(settings.server, engine, worker, announce)
    finally:
        await worker.stop()
        await engine.close()


async def _run(settings: ServerSettings, engine, worker, announce) -> None:  # type: ignore[no-untyped-def]
    server = new_server(engine, worker, settings.max_message_bytes)
    try:
        port = server.add_insecure_port(f"{settings.host}:{settings.port}")
    except RuntimeError as error:
        raise CannotBind(f"cannot bind {settings.host}:{settings.port}; is it in use? name another with --port") from error
    await server.start()
    stop = asyncio.Event()
    for kind in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(kind, stop.set)
    announce(f"{settings.host}:{port}")
    await stop.wait()
    await server.stop(settings.grace_seconds)


def check_address(settings: ServerSettings) -> None:
    """Loopback, or told to be insecure. Raises CannotBind."""
    if settings.insecure or settings.host == "localhost":
        return
    try:
        loopback = ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise CannotBind(f"server.host is {settings.host}: this release has neither TLS nor tokens; bind 127.0.0.1, "
                         "or accept that with --insecure")
