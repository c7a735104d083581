"""The versions of a router's text, and their fate as messages."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from propagation.model import MessageFate, RouterVersion
from propagation.ports import GraphStore


@dataclass(frozen=True)
class SentVersion:
    """A version of a router's text.

    Attributes:
        time: When it was sent, in milliseconds since 1970.
        fate: What became of it at its receivers.
    """

    version: RouterVersion
    time: int
    fate: MessageFate


@dataclass(frozen=True)
class SentVersionPage:
    """One page of versions.

    Attributes:
        more: Whether older versions follow.
    """

    versions: Sequence[SentVersion]
    more: bool


async def list_router_versions(
    store: GraphStore, router: int, before: int | None, size: int, clients: int
) -> SentVersionPage:
    """List the versions of a taste router's text, newest first.

    Args:
        router: The router's number; a retired one has versions, too.
        before: Only versions with a smaller number; None: from the newest on.
        size: How many versions at most.
        clients: How many clients that merged a version are listed at most.
    """
    found = await store.get_router_history(router, size + 1, before)
    shown = found[:size]
    fates = await store.get_message_fates(router, [one.version for one in shown], clients)
    sequences = sorted({one.sequence for one in shown})
    times = dict(
        zip(
            sequences,
            await asyncio.gather(*(store.get_time_of_next(one - 1) for one in sequences)),
            strict=True,
        )
    )
    return SentVersionPage(
        [
            SentVersion(one, times[one.sequence], fates.get(one.version, MessageFate()))
            for one in shown
        ],
        more=len(found) > size,
    )
