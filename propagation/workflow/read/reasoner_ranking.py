"""The reasoner as a ranker (RecNet 3.1.3).

The reasoner re-orders, in one call, the items that the numbers rank best.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from propagation.model import ClientKey, ClientKind, NotFound, PropagationError, ReasonerUnavailable
from propagation.ports import GraphStore, Party, Reasoner, texts_read_after
from propagation.workflow.read.recommend import Recommendations
from propagation.workflow.views import load_texts_in_force

RERANKED_ITEMS = 20


async def rerank(
    store: GraphStore,
    reasoner: Reasoner,
    seed: int,
    user_id: str,
    recommendations: Recommendations,
    seconds: float | None,
    *,
    raise_unavailable: bool = False,
) -> Recommendations:
    """Put the first 20 items into the reasoner's order; the others follow.

    The reasoner is shown the items in a random order, so that their places tell nothing.

    Args:
        seed: Seed of the random order.
        recommendations: The list by the numbers.
        seconds: The longest wait; None: no limit.
        raise_unavailable: Raise if no reasoner answers; for callers that ask again later.

    Returns:
        The list with `by_reasoner` set. The given list if the user is unknown, it has fewer than
        two items, a client was erased meanwhile, or the reasoner failed or was too slow.

    Raises:
        ReasonerUnavailable: No reasoner answers now, and `raise_unavailable` is set.
    """
    items = recommendations.items
    first = items[:RERANKED_ITEMS]
    (user,) = await store.find_refs([ClientKey(kind=ClientKind.USER, id=user_id)])
    if user is None or len(first) < 2:
        return recommendations
    keys = [ClientKey(kind=ClientKind.ITEM, id=item.item_id) for item in first]
    refs = {place: ref for place, ref in enumerate(await store.find_refs(keys)) if ref is not None}
    shown = list(refs)
    Random(f"{seed} {user} {sorted(refs.values())}").shuffle(shown)
    try:
        async with asyncio.timeout(seconds):
            with texts_read_after(await store.get_last_withdrawal()):
                asked, *candidates = await _load_parties(
                    store, [user, *(refs[one] for one in shown)]
                )
                answer = await reasoner.rank(asked, candidates)
    except (PropagationError, TimeoutError) as error:
        if raise_unavailable and isinstance(error, ReasonerUnavailable):
            raise
        return recommendations
    order = [shown[place] for place in answer.order]
    rest = [place for place in range(len(items)) if place not in set(order)]
    return replace(
        recommendations, items=[items[place] for place in (*order, *rest)], by_reasoner=True
    )


async def _load_parties(store: GraphStore, refs: Sequence[int]) -> list[Party]:
    clients = {client.ref: client for client in await store.get_clients(sorted(set(refs)))}
    if erased := set(refs) - set(clients):
        raise NotFound("client number", str(min(erased)))
    texts = await load_texts_in_force(store, refs)
    return [
        Party(
            client=clients[ref],
            profile=texts[ref].profile,
            filter_memory=texts[ref].filter_memory,
        )
        for ref in refs
    ]
