"""Recommend: the catalogue, or given candidates, ranked for a user by the numbers
(OFFLINE_ROUTING.md, rules 2 and 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.client import ClientKey, ClientKind, index_of
from propagation.model.clients.client_text import ClientText
from propagation.ports.embedder import Embedder
from propagation.ports.graph.graph_store import GraphStore
from propagation.workflow.index.embedding import attribute_text, content_text, embed_within_deadline
from propagation.workflow.read.explanation import Explainer, Explanation
from propagation.workflow.read.filter_memory_cache import UserTexts
from propagation.workflow.read.router_words import RouterWords
from propagation.workflow.read.scoring import EMPTY_ROWS, EVERYTHING, Ask, Readings
from propagation.workflow.views.catalogue import Catalogue
from propagation.workflow.views.numbers_owner import NumbersOwner
from propagation.workflow.views.numbers_view import OFF, ON
from propagation.workflow.views.pending_events import PendingEvents

FEW = 4_096


@dataclass(frozen=True)
class Wish:
    """What a caller asks for. `limit` 1 to 1,000; `candidates` None: the whole catalogue;
    `attributes`, `categories`: items that hold at least one of each list that is not empty."""

    user_id: str
    limit: int
    candidates: Sequence[str] | None = None
    attributes: Sequence[str] = ()
    categories: Sequence[str] = ()
    exclude_seen: bool = True
    propagate: bool = True
    explain: bool = False


@dataclass(frozen=True)
class Recommended:
    """One item of the list; its `explanation` where it was asked for."""

    item_id: str
    title: str
    score: float
    explanation: Explanation | None = None


@dataclass(frozen=True)
class Recommendations:
    """Best first. `cold`: the user has no history, the list is the catalogue's own (by popularity,
    and the user's own text where there is one). `unknown`: candidates that are not known or hidden,
    in the caller's order."""

    items: Sequence[Recommended]
    applied_through: int
    cold: bool
    unknown: Sequence[str]


class Recommender:
    """Reads for one process; holds nothing that the store does not have."""

    def __init__(
        self,
        store: GraphStore,
        numbers: NumbersOwner,
        embedder: Embedder,
        catalogue: Catalogue,
        unlearned: PendingEvents,
        router_words: RouterWords,
    ) -> None:
        self._store = store
        self._numbers = numbers
        self._embedder = embedder
        self._catalogue = catalogue
        self._unlearned = unlearned
        self.readings = Readings(numbers)
        self._explainer = Explainer(store, embedder)
        self.texts = UserTexts(store)
        self._router_words = router_words

    async def recommend(self, wish: Wish) -> Recommendations:
        """The best `limit` items, fewer where fewer are left. Equal scores are ordered by a seeded
        hash of user and item."""
        candidates, unknown = await self._candidates(wish)
        (ref,) = await self._store.find_refs([ClientKey(kind=ClientKind.USER, id=wish.user_id)])
        text = await self.texts.get(ref) if ref is not None else None
        ask = await self._ask(wish, ref, text, candidates)
        read = await self.readings.read(ask)
        explanations: Sequence[Explanation | None] = [None] * len(read.ranked.rows)
        if wish.explain:
            explanations = await self._explainer.explain(read, text, ask.arm)
        items = [
            Recommended(
                self._catalogue.id_of(row), self._catalogue.title_of(row), score, explanation
            )
            for row, score, explanation in zip(
                read.ranked.rows.tolist(), read.ranked.scores.tolist(), explanations, strict=True
            )
        ]
        return Recommendations(items, read.applied_through, read.cold, unknown)

    async def _ask(
        self,
        wish: Wish,
        ref: int | None,
        text: ClientText | None,
        candidates: NDArray[np.int64] | None,
    ) -> Ask:
        user = -1 if ref is None else index_of(ref)
        rows, allowed = self._filtered(wish, candidates)
        propagate = wish.propagate
        return Ask(
            user=user,
            arm=ON if propagate else OFF,
            limit=wish.limit,
            factors=await self.factors(text) if propagate and text is not None else None,
            own=await self._own(ref),
            candidates=rows,
            allowed=allowed,
            left_out=await self._left_out(wish, user),
            leave_seen=wish.exclude_seen,
            explain=wish.explain,
        )

    async def _candidates(self, wish: Wish) -> tuple[NDArray[np.int64] | None, list[str]]:
        """Rows of the given candidates, each once, and the ids that are not known or hidden."""
        if wish.candidates is None:
            return None, []
        ids = list(dict.fromkeys(wish.candidates))
        refs = await self._store.find_refs(
            [ClientKey(kind=ClientKind.ITEM, id=name) for name in ids]
        )
        rows, unknown = [], []
        for name, ref in zip(ids, refs, strict=True):
            if (
                ref is None
                or index_of(ref) >= self._numbers.view.items
                or self._catalogue.is_hidden(index_of(ref))
            ):
                unknown.append(name)
            else:
                rows.append(index_of(ref))
        return np.array(rows, np.int64), unknown

    def _filtered(
        self, wish: Wish, candidates: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_]]:
        """(rows to rank, None for all; mask of a filter that leaves too many rows to list)."""
        rows = self._catalogue.rows_with(wish.attributes, wish.categories)
        if rows is None:
            return candidates, EVERYTHING
        if candidates is not None:
            return np.intersect1d(candidates, rows), EVERYTHING
        if len(rows) <= FEW:
            return rows, EVERYTHING
        allowed = np.zeros(max(int(rows[-1]) + 1, self._numbers.view.items), np.bool_)
        allowed[rows] = True
        return None, allowed

    async def factors(self, text: ClientText) -> NDArray[np.float64] | None:
        """[K taste]: what the user's filter rules multiply the routing weights by; None without a
        rule."""
        memory = text.filter_memory
        if not memory.rules:
            return None
        count = self._numbers.view.state.taste.mass.shape[1]
        named = any(rule.attribute is not None for rule in memory.rules)
        held = await self._router_words.of_routers() if named else {}
        return np.array(memory.factors(count, held))

    async def _own(self, ref: int | None) -> NDArray[np.float32] | None:
        """[2,D]: content and attributes of a user's own text, wanted only while there is no
        history; None also where it cannot be embedded now."""
        view = self._numbers.view
        if ref is None or (index_of(ref) < view.users and view.state.history_length[index_of(ref)]):
            return None
        clients = await self._store.get_clients([ref])
        if not clients or not clients[0].has_text:
            return None
        return await embed_within_deadline(
            self._embedder,
            [content_text(clients[0]), attribute_text(clients[0])],
            "a newcomer's text",
        )

    async def _left_out(self, wish: Wish, user: int) -> NDArray[np.int64]:
        """Rows of items that are recorded to be hidden, or to have been the user's, and not learned
        yet."""
        rows = self._catalogue.hiding
        if wish.exclude_seen:
            rows += self._unlearned.rows_of(user)
            if ids := self._unlearned.ids_of(wish.user_id):
                refs = await self._store.find_refs(
                    [ClientKey(kind=ClientKind.ITEM, id=name) for name in ids]
                )
                rows += [index_of(ref) for ref in refs if ref is not None]
        return np.array(rows, np.int64) if rows else EMPTY_ROWS
