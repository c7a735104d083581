"""Certificates of an authority, a server and a caller, made by openssl."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: Path
    key: Path

    @property
    def pem(self) -> tuple[bytes, bytes]:
        """Return (key, certificate), in the order of grpc's arguments."""
        return self.key.read_bytes(), self.certificate.read_bytes()


def make_authority(folder: Path, name: str) -> Pair:
    """Make a self-signed authority."""
    made = _name_files(folder, name)
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    _run_openssl(
        "req", "-x509", *_list_key_options(made), *usage, "-days", "2", "-subj", f"/CN={name}"
    )
    return made


NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"
KEYS = "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid"


def make_certificate(folder: Path, name: str, by: Pair, *, strict: bool = True) -> Pair:
    """Make a certificate for localhost and 127.0.0.1, signed by an authority.

    Args:
        strict: Name the keys, as clients want it by default since Python 3.13.
    """
    made, request = _name_files(folder, name), folder / f"{name}.csr"
    extensions = folder / f"{name}.ext"
    extensions.write_text(f"{NAMES}\n{KEYS}\n" if strict else f"{NAMES}\n")
    _run_openssl(
        "req",
        "-new",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        str(made.key),
        "-out",
        str(request),
        "-subj",
        f"/CN={name}",
    )
    _run_openssl(
        "x509",
        "-req",
        "-in",
        str(request),
        "-CA",
        str(by.certificate),
        "-CAkey",
        str(by.key),
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        str(extensions),
        "-out",
        str(made.certificate),
    )
    return made


def _name_files(folder: Path, name: str) -> Pair:
    return Pair(folder / f"{name}.pem", folder / f"{name}.key")


def _list_key_options(pair: Pair) -> list[str]:
    return [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        str(pair.key),
        "-out",
        str(pair.certificate),
    ]


def _run_openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=30)
