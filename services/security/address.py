"""Where the service may listen, and how: no other address than loopback without TLS and tokens."""

import ipaddress
import socket

import grpc

from services.config.settings import ServerSettings
from services.runtime.errors import NotLoopback, PortTaken
from services.security.tls import server_credentials


def refuse_open_address(server: ServerSettings, host: str | None = None) -> None:
    """Raises NotLoopback unless the host (the service's, or another one that it listens on) is this
    machine's own, TLS and tokens are set, or --insecure was said."""
    closed = server.tls.certificate is not None and server.tokens is not None
    if not (closed or server.insecure or is_loopback(host or server.host)):
        raise NotLoopback(host or server.host)


def is_loopback(host: str) -> bool:
    """Names other than localhost are not resolved: they may mean another machine tomorrow."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def bind(server: grpc.aio.Server, settings: ServerSettings) -> str:
    """Take the port (0: a free one), with TLS where a certificate is named; the address. Raises
    PortTaken, BrokenTls."""
    host = f"[{settings.host}]" if ":" in settings.host.strip("[]") else settings.host
    refuse_taken_port(settings.host.strip("[]"), settings.port)
    credentials, wanted = server_credentials(settings.tls), f"{host}:{settings.port}"
    try:
        port = (
            server.add_secure_port(wanted, credentials)
            if credentials
            else server.add_insecure_port(wanted)
        )
    except RuntimeError as error:
        raise PortTaken(wanted) from error
    return f"{host}:{port}"


def refuse_taken_port(host: str, port: int) -> None:
    """A name may mean several addresses, of which one that is free is enough. grpc would find out
    too, and write lines of its own on standard error that nothing can hold back. Raises PortTaken.
    """
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise PortTaken(f"{host}:{port}") from error
    if not any(_is_free(*place) for place in places):
        raise PortTaken(f"{host}:{port}")


def _is_free(family: int, kind: int, protocol: int, _: str, address: tuple[object, ...]) -> bool:
    try:
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError:
        return False
    return True
