"""Recommendations: items ranked for a user by the numbers.

The items are the catalogue or given candidates.

Source: docs/numbers.md, rules 2 and 3.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from cachetools import TTLCache

from propagation.model import F32, F64, I64, Bools, ClientKey, ClientKind, ClientText, index_of
from propagation.ports import Embedder, GraphStore, InteractionReader
from propagation.workflow.index import (
    create_client_text_cache,
    embed_within_deadline,
    write_attribute_text,
    write_content_text,
)
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.read.explanation import Explainer, Explanation
from propagation.workflow.read.scoring import EMPTY_ROWS, EVERYTHING, ReadBatcher, ReadRequest
from propagation.workflow.views import OFF, ON, Catalogue, NumbersOwner, PendingEvents

LISTED_ROWS = 4_096
CACHED_TEXTS = 4_096
ROUTERS_FRESH_SECONDS = 1.0
FRESH_SECONDS = 0.95
"""Less than a second, to leave time for the read: no rule may be more than a second old."""


class FilterMemoryCache:
    """Users' filter memories, and the rest of their text, for reads.

    The filter rules behind an answer are at most one second old. When a cached text is older, its
    version is read from the store, and the whole text if the version changed. Rules about routers
    that a bootstrap replaced are left out.
    """

    def __init__(self, store: InteractionReader) -> None:
        self._store = store
        self._texts = create_client_text_cache(store)
        self._fresh: TTLCache[int, ClientText] = TTLCache(CACHED_TEXTS, FRESH_SECONDS)

    def forget(self, refs: Iterable[int]) -> None:
        """Drop the texts of clients that another process changed."""
        for ref in refs:
            self._fresh.pop(ref, None)
            self._texts.forget([ref])

    async def get(self, ref: int) -> ClientText:
        """Return the text of a client.

        Returns:
            The text; empty if the client has none.
        """
        text = self._fresh.get(ref)
        if text is None:
            texts, bootstrap = await asyncio.gather(
                self._texts.load_newest([ref]), self._store.get_bootstrap_sequence()
            )
            self._texts.put(ref, texts[ref])
            text = self._fresh[ref] = texts[ref].with_rules_since(bootstrap)
        return text


@dataclass
class RouterAttributes:
    """Attributes that each taste router speaks of.

    Filter rules are matched against them. Loaded again after each round and epoch that this
    process knows of, and after a second, because a withdrawal changes them too.
    """

    store: GraphStore
    numbers: NumbersOwner
    vectors: VectorSync
    _loaded: TTLCache[tuple[int, int], Mapping[int, frozenset[str]]] = field(
        default_factory=lambda: TTLCache(1, ROUTERS_FRESH_SECONDS), init=False
    )

    async def load(self) -> Mapping[int, frozenset[str]]:
        """Return the attributes of each router with a text.

        They are the attributes of its newest message and of its standing.
        """
        current = (self.numbers.view.epoch, self.vectors.canonical.round)
        attributes = self._loaded.get(current)
        if attributes is None:
            routers = range(self.numbers.view.state.taste.mass.shape[1])
            attributes = self._loaded[current] = {
                version.router: frozenset(version.attributes) | dict(version.standing).keys()
                for version in await self.store.get_router_versions(routers)
            }
        return attributes


@dataclass(frozen=True)
class RecommendRequest:
    """A request for recommendations.

    Attributes:
        limit: Length of the list, 1 to 1,000.
        candidates: Ids of the items to rank; None: the whole catalogue.
        attributes: Rank only items with at least one of these; empty: all items.
        categories: As `attributes`.
        exclude_seen: Leave out the items that the user already had.
        propagate: Rank with propagation (ON) or by the other features only (OFF).
        least_users: At least how many users an explanation's numbers and sentences must rest on.
        now: As `ReadRequest.now`.
    """

    user_id: str
    limit: int
    candidates: Sequence[str] | None = None
    attributes: Sequence[str] = ()
    categories: Sequence[str] = ()
    exclude_seen: bool = True
    propagate: bool = True
    explain: bool = False
    least_users: int = 0
    now: float = 0.0


@dataclass(frozen=True)
class Recommended:
    """One item of the list, with its explanation if requested."""

    item_id: str
    title: str
    score: float
    explanation: Explanation | None = None


@dataclass(frozen=True)
class Recommendations:
    """A ranked list, best first.

    Attributes:
        applied_through: Sequence that the numbers reflect.
        cold: The user has no history: the list goes by popularity and the user's own text.
        unknown: Candidates that are unknown or hidden, in the caller's order.
        by_reasoner: A reasoner re-ordered the first items.
    """

    items: Sequence[Recommended]
    applied_through: int
    cold: bool
    unknown: Sequence[str]
    by_reasoner: bool = False


class Recommender:
    """Ranks items for users from the numbers that this process holds."""

    def __init__(
        self,
        store: GraphStore,
        numbers: NumbersOwner,
        embedder: Embedder,
        catalogue: Catalogue,
        pending_events: PendingEvents,
        vectors: VectorSync,
        min_support: int,
    ) -> None:
        self._store = store
        self._numbers = numbers
        self._embedder = embedder
        self._catalogue = catalogue
        self._pending_events = pending_events
        self.batcher = ReadBatcher(numbers)
        self._explainer = Explainer(store, embedder, catalogue, min_support)
        self.texts = FilterMemoryCache(store)
        self._router_attributes = RouterAttributes(store, numbers, vectors)

    async def recommend(self, request: RecommendRequest) -> Recommendations:
        """Rank the best `limit` items, or as many as there are.

        Equal scores are ordered by a seeded hash of user and item.
        """
        candidates, unknown = await self._find_candidates(request)
        (ref,) = await self._store.find_refs([ClientKey(kind=ClientKind.USER, id=request.user_id)])
        text = await self.texts.get(ref) if ref is not None else None
        read = await self._read_request(request, ref, text, candidates)
        result = await self.batcher.read(read)
        rows, scores = result.ranked.rows.tolist(), result.ranked.scores.tolist()
        explanations: Sequence[Explanation | None] = (
            await self._explainer.explain(result, read, text)
            if request.explain
            else [None] * len(rows)
        )
        items = [
            Recommended(self._catalogue.ids[row], self._catalogue.titles[row], score, explanation)
            for row, score, explanation in zip(rows, scores, explanations, strict=True)
        ]
        return Recommendations(items, result.applied_through, result.cold, unknown)

    async def _read_request(
        self,
        request: RecommendRequest,
        ref: int | None,
        text: ClientText | None,
        candidates: I64 | None,
    ) -> ReadRequest:
        user = -1 if ref is None else index_of(ref)
        rows, allowed = self._filter(request, candidates)
        return ReadRequest(
            user=user,
            arm=ON if request.propagate else OFF,
            limit=request.limit,
            factors=await self.factors(text) if request.propagate and text else None,
            own=await self._embed_own_text(ref),
            candidates=rows,
            allowed=allowed,
            left_out=await self._find_unknown(request, user),
            leave_seen=request.exclude_seen,
            explain=request.explain,
            least_users=request.least_users,
            now=request.now,
        )

    async def _find_candidates(self, request: RecommendRequest) -> tuple[I64 | None, list[str]]:
        """Return the rows of the given candidates, each once.

        Returns:
            The rows (None: the whole catalogue), and the ids of unknown or hidden candidates.
        """
        if request.candidates is None:
            return None, []
        ids = list(dict.fromkeys(request.candidates))
        refs = await self._store.find_refs(
            [ClientKey(kind=ClientKind.ITEM, id=name) for name in ids]
        )
        rows = {
            name: index_of(ref)
            for name, ref in zip(ids, refs, strict=True)
            if ref is not None
            and index_of(ref) < self._numbers.view.items
            and not self._catalogue.is_hidden(index_of(ref))
        }
        return np.array(list(rows.values()), np.int64), [name for name in ids if name not in rows]

    def _filter(
        self, request: RecommendRequest, candidates: I64 | None
    ) -> tuple[I64 | None, Bools]:
        """Apply the filters.

        Returns:
            The rows to rank (None: the whole catalogue), and a mask by row of those that pass
            (empty: all).
        """
        rows = self._catalogue.find_rows_with(request.attributes, request.categories)
        if rows is None:
            return candidates, EVERYTHING
        if candidates is not None:
            return np.intersect1d(candidates, rows), EVERYTHING
        if len(rows) <= LISTED_ROWS:
            return rows, EVERYTHING
        allowed = np.zeros(max(int(rows[-1]) + 1, self._numbers.view.items), np.bool_)
        allowed[rows] = True
        return None, allowed

    async def factors(self, text: ClientText) -> F64 | None:
        """Compute the factors of the user's filter rules.

        They multiply the routing weights.

        Returns:
            [K taste] factors; None without a rule.

        Source: docs/numbers.md, rule 2.
        """
        memory = text.filter_memory
        if not memory.rules:
            return None
        count = self._numbers.view.state.taste.mass.shape[1]
        named = any(rule.attribute is not None for rule in memory.rules)
        attributes = await self._router_attributes.load() if named else {}
        return np.array(memory.factors(count, attributes), np.float64)

    async def _embed_own_text(self, ref: int | None) -> F32 | None:
        """Embed the text of a user without history.

        Returns:
            Vectors [2, D] of content and attributes. None if the user has a history or no text, or
            the deadline passed.
        """
        view = self._numbers.view
        if ref is None or (index_of(ref) < view.users and view.state.history_length[index_of(ref)]):
            return None
        clients = await self._store.get_clients([ref])
        if not clients or not clients[0].has_text:
            return None
        return await embed_within_deadline(
            self._embedder,
            [write_content_text(clients[0]), write_attribute_text(clients[0])],
            "a newcomer's text",
        )

    async def _find_unknown(self, request: RecommendRequest, user: int) -> I64:
        """List items to leave out because of log entries not yet learned.

        By these entries the items are hidden, or the user chose them.

        Returns:
            Rows of the items.
        """
        rows = self._catalogue.pending_hidden
        if request.exclude_seen:
            rows += self._pending_events.list_rows(user)
            if ids := self._pending_events.list_ids(request.user_id):
                refs = await self._store.find_refs(
                    [ClientKey(kind=ClientKind.ITEM, id=name) for name in ids]
                )
                rows += [index_of(ref) for ref in refs if ref is not None]
        return np.array(rows, np.int64) if rows else EMPTY_ROWS
