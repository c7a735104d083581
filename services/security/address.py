"""The addresses that the service may listen on.

Only loopback is allowed, unless TLS and tokens are set.
"""

import socket
from urllib.parse import unquote

import grpc

from propagation.adapters.shared.plain_secrets import is_loopback
from services.config.settings import ServerSettings
from services.runtime.errors import NotLoopback, PortTaken
from services.security.networks import name_network
from services.security.tls import create_server_credentials


def refuse_open_address(server: ServerSettings, host: str | None = None) -> None:
    """Refuse an address that other machines reach without TLS and a token.

    Args:
        host: Another host that the process listens on; None: the service's own.

    Raises:
        NotLoopback: Other machines could reach the address so, and `server.insecure` is not set.
    """
    host = host or server.host
    closed = server.tls.certificate is not None and server.tokens is not None
    if not (closed or server.insecure or is_loopback(host)):
        raise NotLoopback(
            f"server.host is {host!r}, which is not loopback: anybody who reaches it could read and"
            " write. Set server.tls.certificate, server.tls.key and server.tokens, use 127.0.0.1,"
            " or add --insecure if the network is trusted"
        )


def find_network(peer: str) -> str:
    """Return the address of a caller, by which its calls are counted.

    For IPv6 it is the caller's network of 64 bits, because one machine may use all its addresses.

    Args:
        peer: The caller's address as grpc writes it, "ipv4:10.0.0.1:5000" or
            "ipv6:%5B::1%5D:5000".
    """
    host = unquote(peer).partition(":")[2].rpartition(":")[0]
    return name_network(host) or peer  # a socket file has no address


def bind(server: grpc.aio.Server, settings: ServerSettings) -> str:
    """Open the service's port, with TLS if a certificate is configured.

    Returns:
        HOST:PORT, where a configured port 0 has become a free one.

    Raises:
        PortTaken, BrokenTls: The port cannot be opened.
    """
    host = f"[{settings.host}]" if ":" in settings.host.strip("[]") else settings.host
    refuse_taken_port(settings.host.strip("[]"), settings.port)
    credentials, address = create_server_credentials(settings.tls), f"{host}:{settings.port}"
    try:
        port = (
            server.add_secure_port(address, credentials)
            if credentials
            else server.add_insecure_port(address)
        )
    except RuntimeError as error:
        raise PortTaken(address) from error
    return f"{host}:{port}"


def refuse_taken_port(host: str, port: int) -> None:
    """Raise PortTaken unless one of the host's addresses has the port free.

    grpc would notice a taken port, too, but writes lines to standard error that cannot be
    suppressed.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise PortTaken(f"{host}:{port}") from error
    if not any(_is_free(*address) for address in addresses):
        raise PortTaken(f"{host}:{port}")


def _is_free(family: int, kind: int, protocol: int, _: str, address: tuple[object, ...]) -> bool:
    try:
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError:
        return False
    return True
