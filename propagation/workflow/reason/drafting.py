"""Drafting of a claim's texts, here or in another process.

A drafter is the only way in which reasoning leaves the event loop: `services/reasoning` has the one
that drafts in a child process, and `docs/architecture.md` says when it is used.
"""

import time
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from propagation.model import (
    ClientText,
    ReasonClaim,
    ReasonedInteraction,
    ReasonedSummary,
    ReasonWork,
    summarize_reasoned,
)
from propagation.ports import GraphStore
from propagation.workflow.index import IndexedText, get_indexed_text
from propagation.workflow.reason.interaction import InteractionReasoning, get_newest_texts

T = TypeVar("T")
OnCommitted = Callable[[Sequence[ReasonedInteraction]], Awaitable[None]]


@dataclass(frozen=True)
class DraftedPart(Generic[T]):
    """A part of a claim, drafted and not committed yet.

    Attributes:
        summaries: The interactions that it finishes.
        reasoned: The rows of its commit.
        texts: The new texts of the clients that changed, as the index needs them.
        is_last: Whether no part follows, even if interactions of the claim are left.
    """

    summaries: Sequence[ReasonedSummary]
    reasoned: T
    texts: Sequence[IndexedText]
    is_last: bool


class TextDrafter(Protocol[T]):
    """Drafts one claim at a time.

    A draft builds on the drafts before it. If one of them is not committed, the caller must
    `forget` the claim's clients before the next claim.
    """

    def draft(
        self, works: Sequence[ReasonWork], seconds: float, is_awaited: Callable[[], bool]
    ) -> AsyncGenerator[DraftedPart[T], None]:
        """Draft interactions in order, at least one of them.

        A caller that stops before the last part closes the generator.

        Args:
            seconds: After this time no interaction is started.
            is_awaited: Tells whether the caller waits for the next part.
        """

    async def commit(self, claim: ReasonClaim, part: DraftedPart[T]) -> None:
        """Commit a part; the last one gives back the claim.

        Raises VersionClash and LeaseLost.
        """

    def keep(self, texts: Mapping[int, ClientText]) -> None:
        """Keep these texts as the newest ones.

        Another part of this process stored them.
        """

    def forget(self, refs: Iterable[int]) -> None:
        """Drop these clients' texts, so that they are loaded again before use."""

    def stop_early(self) -> None:
        """End the running claim after the part that is being drafted.

        It is called repeatedly while calls wait.
        """

    def shorten_wait(self) -> None:
        """Wait only a short time for a drafter that hangs.

        The service calls this when it stops.
        """

    async def close(self) -> None:
        """Stop drafting, and end the process that drafts, if any."""


@dataclass
class ClaimDrafter:
    """Drafts in the calling process.

    Args:
        least: The fewest interactions of a part, unless the time or the claim ends before. More are
            added until the caller waits for the part.
        late: The sequence with which replayed dead letters are marked; None: no replay.
    """

    interactions: InteractionReasoning
    least: int
    late: int | None = None
    _ending: bool = False

    async def draft(
        self, works: Sequence[ReasonWork], seconds: float, is_awaited: Callable[[], bool]
    ) -> AsyncGenerator[DraftedPart[Sequence[ReasonedInteraction]], None]:
        """Draft interactions in order; see TextDrafter."""
        until, self._ending = time.monotonic() + seconds, False
        drafted: dict[int, ClientText] = {}
        ahead, last = len(works), False

        def enough(count: int) -> bool:
            return time.monotonic() >= until or (
                count >= self.least and (self._ending or is_awaited())
            )

        for remaining in _split_into_spans(works, self.least):
            working_set = await self.interactions.load_working_set(remaining, drafted)
            while remaining and not last:
                results = await self.interactions.reason(remaining, working_set, enough)
                done = {result.sequence for result in results}
                remaining = [work for work in remaining if work.sequence not in done]
                ahead -= len(results)
                texts = get_newest_texts(results)
                drafted.update(texts)
                if self.late is not None:
                    results = [replace(result, late=self.late) for result in results]
                last = not ahead or self._ending or time.monotonic() >= until
                yield DraftedPart(
                    summaries=[summarize_reasoned(result) for result in results],
                    reasoned=results,
                    texts=[get_indexed_text(text) for text in texts.values()],
                    is_last=last,
                )
            if last:
                break

    def keep(self, texts: Mapping[int, ClientText]) -> None:
        self.interactions.cache.put_all(texts)

    def forget(self, refs: Iterable[int]) -> None:
        self.interactions.cache.forget(refs)

    def stop_early(self) -> None:
        self._ending = True


def _split_into_spans(works: Sequence[ReasonWork], least: int) -> Iterator[Sequence[ReasonWork]]:
    """Split the works into spans that double in size.

    The texts of a span are loaded at once. Small spans come first, so that little is loaded in vain
    if a large claim must end early.
    """
    start, end = 0, least
    while start < len(works):
        yield works[start:end]
        start, end = end, 2 * end


@dataclass
class LoopDrafter(ClaimDrafter):
    """Drafts between calls, on the loop that answers them.

    Args:
        on_committed: Called with the interactions of each commit.
    """

    store: GraphStore = field(kw_only=True)
    on_committed: OnCommitted = field(kw_only=True)

    async def commit(
        self, claim: ReasonClaim, part: DraftedPart[Sequence[ReasonedInteraction]]
    ) -> None:
        await self.store.commit_reasoned(claim, part.reasoned, more=not part.is_last)
        self.keep(get_newest_texts(part.reasoned))
        await self.on_committed(part.reasoned)

    def shorten_wait(self) -> None:
        """Do nothing: no other process could hang."""

    async def close(self) -> None:
        """Do nothing: nothing is open."""
