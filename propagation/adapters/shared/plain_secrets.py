"""The rule that no secret crosses a network in clear.

Every connection is checked against it.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from propagation.model import PropagationError

# The replacement for each scheme without TLS. A server at a neo4j:// address answers with a list of
# servers to connect to, so such an address may always lead to other machines.
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
        secret: None or empty if there is none; a password in the address is checked, too.
        url: The server's address.
        part: Name of the server's settings, for the message.
        allowed: The server's setting `insecure`.

    Raises:
        PlainSecret: The address has no TLS, and may lead to another machine.
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
    """Check whether an address is on this machine and has no TLS.

    Calls to such an address must not use a proxy of the environment: the proxy may be on another
    machine.
    """
    parts = urlsplit(url)
    return parts.scheme in ENCRYPTED and is_loopback(parts.hostname or "")


def is_loopback(host: str) -> bool:
    """Check whether a host is this machine's own.

    Of all names, only localhost counts as this machine. Other names are not resolved, because they
    may mean another machine tomorrow.
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
