"""The rule that no secret crosses a network in clear.

Every connection asks it.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from propagation.model import PropagationError

# What to write in place of a scheme without TLS. A neo4j:// address leads to whatever servers its
# answer lists, so that no such address is this machine's alone.
ENCRYPTED: Mapping[str, str] = {
    "http": "https://",
    "bolt": "bolt+s://",
    "neo4j": "neo4j+s:// (for one server on this machine: bolt://)",
}


class PlainSecret(PropagationError):
    """A secret would cross a network in clear; nothing was sent."""


def refuse_plain_secret(name: str, secret: str | None, url: str, part: str, allowed: bool) -> None:
    """Refuse an address to which a secret would be sent in clear.

    Args:
        name: The setting or variable of the secret.
        secret: None or empty: there is none, but the address may contain one.
        url: The server's address.
        part: The settings of that server; `allowed` is its setting `insecure`.

    Raises:
        PlainSecret: The server is not on this machine, and the address has no TLS.
    """
    parts = urlsplit(url)
    if allowed or parts.scheme not in ENCRYPTED or not (secret or parts.password):
        return
    if parts.scheme == "neo4j" or not is_plain_loopback(url):
        raise PlainSecret(
            f"{name} would cross the network in clear to {parts.scheme}://{parts.hostname}: write"
            f" that address with {ENCRYPTED[parts.scheme]}, or set {part}.insecure=true if only"
            " trusted machines share the network"
        )


def is_plain_loopback(url: str) -> bool:
    """Check for an address of this machine without TLS.

    No proxy of the environment may get what is sent there: it may be on another machine.
    """
    parts = urlsplit(url)
    return parts.scheme in ENCRYPTED and is_loopback(parts.hostname or "")


def is_loopback(host: str) -> bool:
    """Check whether a host is this machine's own.

    Of all names, only localhost is. Other names are not resolved: they may mean another machine
    tomorrow.
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
