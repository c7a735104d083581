"""Multicast: a router's message reaches the clients that score above tau.

Score(R, c) = cos(e_R, e_c) * [A_R and A_c share an attribute]. The vector index computes the score.
The default policy reaches clients by their taste weights instead (adoption_policy.py).

A message is stored once, at its router; its receivers find it through the routing table (see
`docs/design.md`, "The graph", and reception/message_buffer.py).

Source: RecNet 2.2.3, eq. 4.
"""

import asyncio

from propagation.model import F32, RouterVersion
from propagation.ports import Collection, VectorIndex


async def find_clients_above_threshold(
    index: VectorIndex, version: RouterVersion, vector: F32, tau: float
) -> dict[tuple[int, int], float]:
    """Score all clients for a router's message, and keep those above tau.

    Args:
        version: The router's version, with its attributes A_R.
        vector: e_R [D], the embedding of its text.

    Returns:
        Scores by (router, client ref).
    """
    hits = await asyncio.gather(
        *(
            index.search_above(kind, vector, tau, frozenset(version.attributes))
            for kind in (Collection.USERS, Collection.ITEMS)
        )
    )
    return {(version.router, int(hit.key)): hit.score for found in hits for hit in found}
