"""Addresses of callers, by which what they do is counted."""

import ipaddress


def name_network(host: str) -> str | None:
    """Return the address of a machine, if the text is one.

    For IPv6 it is the network of 64 bits, because one machine may use all its addresses.
    """
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    if address.version == 4:
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))
