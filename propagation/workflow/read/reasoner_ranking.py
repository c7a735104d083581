"""The reasoner as a ranker (RecNet 3.1.3), behind Recommend: the numbers' best, re-ordered by one
call."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from propagation.model.clients.client import ClientKey, ClientKind
from propagation.model.errors import PropagationError, ReasonerUnavailable
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.reasoner import Party, Reasoner
from propagation.workflow.read.recommend import Recommendations

FIRST = 20


class ReasonerRanking:
    """`seed`: draws the order in which candidates are shown, so that no place says what the numbers
    think."""

    def __init__(self, store: GraphStore, reasoner: Reasoner, seed: int) -> None:
        self._store = store
        self._reasoner = reasoner
        self._seed = seed

    async def reordered(
        self, user_id: str, found: Recommendations, seconds: float | None, *, waits: bool = False
    ) -> tuple[Recommendations, bool]:
        """The first 20 in the reasoner's order, the others after them, and whether it was asked:
        not where it failed, or took longer than `seconds` (None: as long as it takes), or knows
        nothing of the user. `waits`: for who asks again where the reasoner answers nobody:
        ReasonerUnavailable is raised."""
        first = found.items[:FIRST]
        (user,) = await self._store.find_refs([ClientKey(kind=ClientKind.USER, id=user_id)])
        if user is None or len(first) < 2:
            return found, False
        refs = await self._store.find_refs(
            [ClientKey(kind=ClientKind.ITEM, id=item.item_id) for item in first]
        )
        known = [place for place, ref in enumerate(refs) if ref is not None]
        Random(f"{self._seed} {user} {sorted(ref for ref in refs if ref is not None)}").shuffle(
            known
        )
        try:
            async with asyncio.timeout(seconds):
                asked, *candidates = await self._parties(
                    [user, *(ref for place in known if (ref := refs[place]) is not None)]
                )
                answer = await self._reasoner.rank(asked, candidates)
        except (PropagationError, TimeoutError) as error:
            if waits and isinstance(error, ReasonerUnavailable):
                raise
            return found, False
        order = [known[place] for place in answer.order]
        rest = [place for place in range(len(found.items)) if place not in set(order)]
        return replace(found, items=[found.items[place] for place in (*order, *rest)]), True

    async def _parties(self, refs: Sequence[int]) -> list[Party]:
        clients = {
            client.ref: client for client in await self._store.get_clients(sorted(set(refs)))
        }
        texts = await self._store.load_texts(refs)
        return [
            Party(
                client=clients[ref],
                profile=texts[ref].profile,
                filter_memory=texts[ref].filter_memory,
            )
            for ref in refs
        ]
