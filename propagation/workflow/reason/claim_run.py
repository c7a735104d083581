"""A claim, reasoned and committed in parts: while one part is committed the next is reasoned on the
texts it left."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Generic

from propagation.model.interactions.reasoning import ReasonClaim, ReasonedSummary, ReasonWork
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.reason.drafting import DraftedPart, T, TextDrafter
from propagation.workflow.reason.interaction import clients_of_all
from propagation.workflow.views.client_texts import IndexedText

SHOWN = 512
Show = Callable[[Sequence[IndexedText]], Awaitable[None]]


class ClaimRun(Generic[T]):
    """`done`: what is committed. The last commit gives the claim back. `show` is told what clients
    say now that it is stored."""

    def __init__(
        self, drafting: TextDrafter[T], claim: ReasonClaim, vectors: VectorSync, show: Show
    ) -> None:
        self._drafting = drafting
        self._claim = claim
        self._vectors = vectors
        self._show = show
        self._committing: asyncio.Task[None] | None = None
        self._changed: dict[int, IndexedText] = {}
        self.done: list[ReasonedSummary] = []

    async def reason(self, until: float) -> None:
        """What is not done yet, or, once the monotonic clock has passed `until` (seconds), a part
        of it; the first is always done. What is committed is shown, however this ends. Raises
        VersionClash and LeaseLost: what is not done is as if it had not begun, and its clients'
        texts are loaded again."""
        finished = {result.sequence for result in self.done}
        works = [work for work in self._claim.work if work.sequence not in finished]
        try:
            await self._in_parts(works, until - time.monotonic())
            await self._ended()
        except BaseException:
            self._load_again()
            raise
        finally:
            await self._settled()
            await self.hand_over()

    async def _in_parts(self, works: Sequence[ReasonWork], seconds: float) -> None:
        """The last commit is still under way."""
        async with aclosing(self._drafting.draft(works, seconds, self._idle)) as parts:
            async for part in parts:
                await self._ended()
                if len(self._changed) >= SHOWN:
                    await self.hand_over()
                self._committing = asyncio.create_task(self._commit(part))

    async def hand_over(self) -> None:
        """What clients say now and nobody was shown yet is on its way into view and index."""
        if self._changed:
            changed, self._changed = self._changed, {}
            await self._show(list(changed.values()))

    def _idle(self) -> bool:
        """Whether no commit is under way."""
        return self._committing is None or self._committing.done()

    async def _commit(self, part: DraftedPart[T]) -> None:
        await self._drafting.commit(self._claim, part)
        self._vectors.note_committed(part.texts)
        self._changed.update((said.ref, said) for said in part.texts)
        self.done.extend(part.summaries)

    async def _ended(self) -> None:
        """The commit under way. Raises what it raised."""
        task, self._committing = self._committing, None
        if task is not None:
            await task

    async def _settled(self) -> None:
        """The same, where something else went wrong already."""
        task, self._committing = self._committing, None
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

    def _load_again(self) -> None:
        """Somebody else may have written the texts of the claim's clients, or what was drafted of
        them was not committed."""
        self._drafting.forget(clients_of_all(self._claim.work))
