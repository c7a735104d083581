"""The buffer: the newest B messages that reached a client, last in first out (RecNet 2.3.1)."""

from collections.abc import Sequence

from propagation.model.routers.router import RouterVersion


def buffered(
    ref: int, waiting: Sequence[RouterVersion], capacity: int
) -> tuple[Sequence[RouterVersion], Sequence[RouterVersion]]:
    """(kept, fallen out) of what waits for a client, newest first, at most one a router.

    What came from the client itself alone is no news to it and is neither."""
    own = frozenset((ref,))
    news = [message for message in waiting if message.senders != own]
    return news[:capacity], news[capacity:]
