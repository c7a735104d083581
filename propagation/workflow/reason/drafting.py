"""Who drafts the texts of a claim: this process, on its loop, or another one beside it."""

import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from propagation.model.clients.client_text import ClientText
from propagation.model.interactions.reasoning import (
    ReasonClaim,
    ReasonedInteraction,
    ReasonedSummary,
    ReasonWork,
    summarize_reasoned,
)
from propagation.ports.graph.graph_store import GraphStore
from propagation.workflow.reason.interaction import InteractionReasoning
from propagation.workflow.views.client_texts import IndexedText, indexed_text

T = TypeVar("T")


@dataclass(frozen=True)
class Drafts(Generic[T]):
    """A part of a claim: what its commit writes, and what every client that changed in it says now.
    `last`: nothing comes after it, also where interactions are left."""

    finished: Sequence[ReasonedSummary]
    reasoned: T
    said: Sequence[IndexedText]
    last: bool


class Drafting(Protocol[T]):
    """One claim at a time. What is drafted builds on the drafts before it: where one of them is not
    committed, its clients are to be forgotten before the next claim."""

    def drafts(
        self, works: Sequence[ReasonWork], seconds: float, wanted: Callable[[], bool]
    ) -> AsyncGenerator[Drafts[T], None]:
        """In order, at least one interaction; none is begun after so many seconds. `wanted`:
        whether somebody waits for the next part. Whoever stops before the last one closes the
        generator."""

    async def commit(self, claim: ReasonClaim, drafts: Drafts[T]) -> None:
        """As `commit_reasoned`; the last one gives back the claim. Raises VersionClash and
        LeaseLost."""

    def committed(self, texts: Mapping[int, ClientText]) -> None:
        """Somebody else in this process made these the stored texts."""

    def forget(self, refs: Iterable[int]) -> None:
        """These clients' texts are to be loaded again."""

    def enough(self) -> None:
        """Somebody waits: the part that is being drafted may be the last of its claim. Said again
        for as long as it holds."""

    def hurry(self) -> None:
        """The service is to stop: what hangs is not waited for long."""

    async def close(self) -> None: ...


class Drafter:
    """Drafts in this process. A part has at least `least` interactions, and as many more as are
    reasoned before somebody waits for it. `late`: as in ReasonedInteraction."""

    def __init__(
        self, interactions: InteractionReasoning, least: int, late: int | None = None
    ) -> None:
        self.interactions = interactions
        self.least = least
        self._late = late
        self._ending = False

    async def drafts(
        self, works: Sequence[ReasonWork], seconds: float, wanted: Callable[[], bool]
    ) -> AsyncGenerator[Drafts[Sequence[ReasonedInteraction]], None]:
        """See Drafting."""
        until, self._ending = time.monotonic() + seconds, False
        drafted: dict[int, ClientText] = {}
        ahead, last = len(works), False

        def enough(count: int) -> bool:
            return time.monotonic() >= until or (count >= self.least and (self._ending or wanted()))

        for left in _spans(works, self.least):
            working_set = await self.interactions.working_set(left, drafted)
            while left and not last:
                results = await self.interactions.reason(left, working_set, enough)
                done = {result.sequence for result in results}
                left = [work for work in left if work.sequence not in done]
                ahead -= len(results)
                texts = newest_of(results)
                drafted.update(texts)
                if self._late is not None:
                    results = [replace(result, late=self._late) for result in results]
                last = not ahead or self._ending or time.monotonic() >= until
                yield Drafts(
                    finished=[summarize_reasoned(result) for result in results],
                    reasoned=results,
                    said=[indexed_text(text) for text in texts.values()],
                    last=last,
                )
            if last:
                break


def _spans(works: Sequence[ReasonWork], least: int) -> Iterator[Sequence[ReasonWork]]:
    """The works in order: the least, then as many again as came before. What a span finds is read
    once for all of it; where somebody soon waits for the end of a large claim, little was read in
    vain."""
    start, end = 0, least
    while start < len(works):
        yield works[start:end]
        start, end = end, 2 * end


class OnLoop(Drafter):
    """Drafting between calls, on the loop that answers them."""

    def __init__(
        self,
        store: GraphStore,
        interactions: InteractionReasoning,
        least: int,
        late: int | None = None,
    ) -> None:
        super().__init__(interactions, least, late)
        self._store = store

    async def commit(
        self, claim: ReasonClaim, drafts: Drafts[Sequence[ReasonedInteraction]]
    ) -> None:
        await self._store.commit_reasoned(claim, drafts.reasoned, more=not drafts.last)
        self.committed(newest_of(drafts.reasoned))

    def committed(self, texts: Mapping[int, ClientText]) -> None:
        self.interactions.committed(texts)

    def forget(self, refs: Iterable[int]) -> None:
        self.interactions.forget(refs)

    def enough(self) -> None:
        self._ending = True

    def hurry(self) -> None:
        """Nothing hangs."""

    async def close(self) -> None:
        """Nothing is open."""


def newest_of(results: Sequence[ReasonedInteraction]) -> dict[int, ClientText]:
    """The newest text of every client that changed."""
    return {text.profile.ref: text for result in results for text in result.texts}
