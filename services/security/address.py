"""The addresses that the service may listen on, and TLS.

Addresses are loopback only, unless TLS and tokens are set. Certificates, also those of mutual TLS,
may be replaced while the service runs.
"""

import ipaddress
import socket
import ssl
from pathlib import Path

import grpc

from propagation.errors import PropagationError
from services.config.settings import ServerSettings, TlsSettings
from services.runtime.errors import NotLoopback, PortTaken
from services.security.reloaded_file import ReloadedFiles


def refuse_open_address(server: ServerSettings, host: str | None = None) -> None:
    """Raise NotLoopback if other machines could reach the service without TLS and a token.

    Another `host` that the process listens on is judged in place of the service's own.
    """
    closed = server.tls.certificate is not None and server.tokens is not None
    if not (closed or server.insecure or is_loopback(host or server.host)):
        raise NotLoopback(host or server.host)


def is_loopback(host: str) -> bool:
    """Check whether a host is this machine's own; of all names, only localhost is.

    Other names are not resolved: they may mean another machine tomorrow.
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def bind(server: grpc.aio.Server, settings: ServerSettings) -> str:
    """Open the service's port, with TLS if a certificate is configured.

    Returns:
        HOST:PORT, where a configured port 0 has become a free one.

    Raises:
        PortTaken, BrokenTls: The port cannot be opened.
    """
    host = f"[{settings.host}]" if ":" in settings.host.strip("[]") else settings.host
    refuse_taken_port(settings.host.strip("[]"), settings.port)
    credentials, address = server_credentials(settings.tls), f"{host}:{settings.port}"
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

    grpc would notice too, but writes lines to standard error that cannot be suppressed.
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


class BrokenTls(PropagationError):
    """The TLS settings are incomplete, or one of their files cannot be used."""


def server_credentials(tls: TlsSettings) -> grpc.ServerCredentials | None:
    """Build the gRPC server's credentials; each new connection gets the files' current content.

    Returns:
        None if no certificate is configured.

    Raises:
        BrokenTls: Certificate or key is missing, or a file cannot be used.
    """
    paths = _paths(tls)
    if not paths:
        return None
    certificate, key = tls.certificate, tls.key
    if certificate is None or key is None:
        raise BrokenTls("server.tls: certificate and key belong together; name both")

    def read() -> grpc.ServerCertificateConfiguration:
        _load_context(tls)  # grpc itself accepts any text, and then no handshake succeeds
        return grpc.ssl_server_certificate_configuration(
            [(key.read_bytes(), certificate.read_bytes())],
            root_certificates=tls.client_ca.read_bytes() if tls.client_ca else None,
        )

    try:
        files = ReloadedFiles(paths, read)
    except OSError as error:
        raise BrokenTls(f"server.tls: {error.filename}: {error.strerror}") from error
    return grpc.dynamic_ssl_server_credentials(
        files.current(), files.current, require_client_authentication=tls.client_ca is not None
    )


def server_context(tls: TlsSettings) -> ssl.SSLContext | None:
    """Build the metrics endpoint's TLS context; handshakes use the files' current content.

    Returns:
        None if no certificate is configured.

    Raises:
        BrokenTls: A file cannot be used.
    """
    if tls.certificate is None or tls.key is None:
        return None
    files = ReloadedFiles(_paths(tls), lambda: _load_context(tls))
    context = files.current()

    def use_current(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = files.current()

    context.sni_callback = use_current  # also runs for a client that sends no server name
    return context


def _load_context(tls: TlsSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    problem = f"{tls.certificate} and {tls.key} are not a certificate and its key"
    try:
        context.load_cert_chain(tls.certificate or "", tls.key)
        if tls.client_ca is not None:
            problem = f"{tls.client_ca} holds no authority's certificate"
            context.load_verify_locations(tls.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        raise BrokenTls(f"server.tls: {problem} ({error}); name readable PEM files") from error
    return context


def _paths(tls: TlsSettings) -> tuple[Path, ...]:
    return tuple(path for path in (tls.certificate, tls.key, tls.client_ca) if path is not None)
