"""TLS of the service; its certificates may be replaced while it runs."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import grpc

from propagation.errors import PropagationError
from services.security.reloaded_file import ReloadedFiles


class TlsPaths(Protocol):
    """PEM files of a server; `services.config.settings.TlsSettings` describes them."""

    @property
    def certificate(self) -> Path | None:
        """File with the server's certificate."""

    @property
    def key(self) -> Path | None:
        """File with its private key."""

    @property
    def client_ca(self) -> Path | None:
        """File of certificates that must have signed the callers'."""


@dataclass(frozen=True)
class TlsFiles:
    """PEM files of a server that has no settings of its own."""

    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None


class BrokenTls(PropagationError):
    """TLS settings are incomplete, or one of their files cannot be used."""


def create_server_credentials(tls: TlsPaths) -> grpc.ServerCredentials | None:
    """Build the gRPC server's credentials.

    Each new connection gets the files' current content.

    Returns:
        None if no certificate is configured.

    Raises:
        BrokenTls: Certificate or key is missing, or a file cannot be used.
    """
    paths = _list_paths(tls)
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


def create_server_context(tls: TlsPaths) -> ssl.SSLContext | None:
    """Build an HTTP server's TLS context, which follows changes of its files.

    Returns:
        None if no certificate is configured.

    Raises:
        BrokenTls: A file cannot be used.
    """
    if tls.certificate is None or tls.key is None:
        return None
    files = ReloadedFiles(_list_paths(tls), lambda: _load_context(tls))
    context = files.current()

    def use_current(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = files.current()

    context.sni_callback = use_current  # also runs for a client that sends no server name
    return context


def _load_context(tls: TlsPaths) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # Python 3.13 would refuse callers' certificates that the gRPC port accepts.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    problem = f"{tls.certificate} and {tls.key} are not a certificate and its key"
    try:
        context.load_cert_chain(tls.certificate or "", tls.key)
        if tls.client_ca is not None:
            problem = f"{tls.client_ca} holds no certificate of an authority"
            context.load_verify_locations(tls.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        raise BrokenTls(f"server.tls: {problem} ({error}); name readable PEM files") from error
    return context


def _list_paths(tls: TlsPaths) -> tuple[Path, ...]:
    return tuple(path for path in (tls.certificate, tls.key, tls.client_ca) if path is not None)
