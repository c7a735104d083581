"""The senders that are stored with a message, apart from all of its parts."""

from propagation.model import IntegratedAttribute, RouterVersion

SENDERS_KEPT = 2


def first_parts(version: RouterVersion) -> list[IntegratedAttribute]:
    """List the first part of each of the first two senders, which short reads show."""
    first: dict[int, IntegratedAttribute] = {}
    for part in version.integrated:
        if part.ref not in first and len(first) < SENDERS_KEPT:
            first[part.ref] = part
    return list(first.values())


def lone_sender(version: RouterVersion) -> int | None:
    """Return the only client that the message comes from; None if there are several."""
    return next(iter(version.senders)) if len(version.senders) == 1 else None
