"""TLS, and mutual TLS, with certificates that may be replaced while the service runs."""

import ssl
from pathlib import Path

import grpc

from propagation.model.errors import PropagationError
from services.config.settings import TlsSettings
from services.security.reloaded_file import Watched


class BrokenTls(PropagationError):
    """The TLS settings do not add up, or a file of them cannot be read."""


def server_credentials(tls: TlsSettings) -> grpc.ServerCredentials | None:
    """None where no certificate is named. New connections get the files as they are then. Raises
    BrokenTls."""
    if tls.certificate is None and tls.key is None and tls.client_ca is None:
        return None
    if tls.certificate is None or tls.key is None:
        raise BrokenTls("server.tls: certificate and key belong together; name both")
    certificate, key, client_ca = tls.certificate, tls.key, tls.client_ca

    def read() -> grpc.ServerCertificateConfiguration:
        _check_pair(certificate, key)
        roots = read_file(client_ca) if client_ca else None
        return grpc.ssl_server_certificate_configuration(
            [(read_file(key), read_file(certificate))], root_certificates=roots
        )

    try:
        watched = Watched(_files(tls), read)
    except OSError as error:
        raise BrokenTls(f"server.tls: {error.filename}: {error.strerror}") from error
    return grpc.dynamic_ssl_server_credentials(
        watched.now(), watched.now, require_client_authentication=client_ca is not None
    )


def server_context(tls: TlsSettings) -> ssl.SSLContext | None:
    """The same for what is no gRPC: None where no certificate is named; each handshake shows the
    files as they are then. Raises BrokenTls."""
    if tls.certificate is None or tls.key is None:
        return None
    watched = Watched(_files(tls), lambda: _context(tls))
    context = watched.now()

    def shown(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = watched.now()

    context.sni_callback = shown  # is called where no name is asked for, too
    return context


def _context(tls: TlsSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(tls.certificate or "", tls.key)
        if tls.client_ca is not None:
            context.load_verify_locations(tls.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as error:
        raise BrokenTls(f"{tls.certificate}, {tls.key}: {error}") from error
    return context


def _files(tls: TlsSettings) -> tuple[Path, ...]:
    return tuple(path for path in (tls.certificate, tls.key, tls.client_ca) if path is not None)


def _check_pair(certificate: Path, key: Path) -> None:
    """grpc itself would take any text, and answer nobody."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise BrokenTls(
            f"server.tls: {certificate} and {key} are not a certificate and its key ({error.reason})"
        ) from error


def read_file(path: Path) -> bytes:
    """A PEM file. Raises BrokenTls."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BrokenTls(f"{path}: {error.strerror}; name a readable PEM file") from error
    if b"-----BEGIN " not in text:
        raise BrokenTls(f"{path}: is not a PEM file")
    return text
