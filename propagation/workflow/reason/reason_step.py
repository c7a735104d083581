"""Reason: claim what waits, reason it, commit it (DESIGN, State, 3); dead letters, and their
replay."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from propagation.model.errors import LeaseLost
from propagation.model.interactions.reasoning import ReasonClaim, ReasonedSummary
from propagation.ports.graph.graph_store import GraphStore, VersionClash
from propagation.workflow.concurrency.leases import Leases
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.reason.claim_renewal import ClaimRenewal
from propagation.workflow.reason.claim_run import ClaimRun
from propagation.workflow.reason.drafting import LoopDrafter, TextDrafter
from propagation.workflow.reason.interaction import InteractionReasoning, clients_of_all
from propagation.workflow.reason.pipeline import Pipeline
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views.client_texts import IndexedText

CLAIM = 512
CLAIM_SECONDS = 10.0
PART = 64
REDONE = 5


class Reasoning:
    """One claim at a time, or a pipeline of interactions where the reasoner is waited for.
    `vectors` are given the newest text of every client that a commit changed. `beside`: who drafts
    claims instead of this process. `lockstep`: a replay, in which the order of completion changes
    nothing."""

    def __init__(
        self,
        store: GraphStore,
        interactions: InteractionReasoning,
        vectors: VectorSync,
        settings: WorkflowSettings,
        leases: Leases,
        width: int,
        beside: TextDrafter[Any] | None = None,
    ) -> None:
        self._store = store
        self._interactions = interactions
        self._part = CLAIM if width > 1 else PART
        self.drafting: TextDrafter[Any] = beside or LoopDrafter(store, interactions, self._part)
        self.beside = beside is not None
        self._claims = ClaimRenewal(store, leases)
        self._vectors = vectors
        self._unfinished: ReasonClaim | None = None
        self._under_way: ClaimRun[Any] | None = None
        self._wide = width > 1
        self._showing: asyncio.Task[None] | None = None
        self.pipeline = Pipeline(store, interactions, vectors, settings, self._claims, width)
        self.lockstep = False

    async def step(self, limit: int = CLAIM) -> int:
        """Reason the next claim; how many interactions were finished. A slow reasoner finishes a
        part of its claim in time, and the rest is free again. Raises LeaseLost when the claim was
        taken over, VersionClash when other writers won five times in a row."""
        if not self.by_claims:
            return await self.pipeline.step()
        await self._free()
        claim = await self._claims.take(limit)
        if claim is None:
            await self.shown()
            return 0
        return len(await self._finish(claim, self.drafting))

    @property
    def by_claims(self) -> bool:
        """Whether a step is one claim, in parts; else it is a look at a pipeline in which a model
        is waited for."""
        return not self._wide or self.lockstep

    @property
    def committed(self) -> int | None:
        """How many interactions of the claim under way are stored; None where none is."""
        return len(self._under_way.done) if self._under_way else None

    async def shown(self) -> None:
        """Until what is committed is in the view and the index too, of the claim under way as well:
        they follow while reasoning goes on."""
        if self._under_way is not None:
            await self._under_way.hand_over()
        if self._showing is not None:
            await asyncio.shield(self._showing)  # who leaves takes along what others wait for, else

    async def settle(self) -> None:
        """Until nothing is under way; the caller sees to it that nothing is begun."""
        await self.pipeline.settle()
        await self.shown()

    async def replay_dead_letters(self, limit: int = CLAIM) -> tuple[int, int]:
        """Try the oldest dead letters again, their edits on the current versions, marked late;
        (mended, failed again)."""
        claim = await self._claims.take_dead_letters(limit)
        if claim is None:
            return 0, 0
        late = await self._store.recorded_through()
        results = await self._finish(
            claim, LoopDrafter(self._store, self._interactions, self._part, late)
        )
        self.drafting.forget(clients_of_all(claim.work))
        failed = sum(result.failed for result in results)
        return len(results) - failed, failed

    async def close(self) -> None:
        """Give up what is under way: it is as if it had not begun."""
        await self.pipeline.close()
        await self.shown()
        await self.drafting.close()

    async def _free(self) -> None:
        """What a failed attempt (a full disk, say) still holds is free at once, instead of when its
        claim expires."""
        if self._unfinished is not None:
            with suppress(LeaseLost):
                await self._store.commit_reasoned(self._unfinished, ())
            self._unfinished = None

    async def _finish(
        self, claim: ReasonClaim, drafting: TextDrafter[Any]
    ) -> list[ReasonedSummary]:
        """Reason and commit. Where another writer was first with a client's next version, the texts
        of what is left of the claim are loaded again (a reader may have merged many) and it is
        redone on them: nothing of the lost attempt is kept."""
        self._unfinished = claim
        try:
            async with self._claims.keep_alive(claim):
                return await self._in_parts(claim, drafting)
        finally:
            self._under_way = None

    async def _in_parts(
        self, claim: ReasonClaim, drafting: TextDrafter[Any]
    ) -> list[ReasonedSummary]:
        self._under_way = parts = ClaimRun(drafting, claim, self._vectors, self._show)
        until, lost = time.monotonic() + CLAIM_SECONDS, 0
        while True:
            done = len(parts.done)
            try:
                await parts.reason(until)
                break
            except VersionClash:
                lost = lost + 1 if len(parts.done) == done else 1
                if lost == REDONE:
                    raise
        self._unfinished = None
        return parts.done

    async def _show(self, said: Sequence[IndexedText]) -> None:
        """Beside whatever comes next, one after another; back when what came before is shown."""
        before = self._showing
        self._showing = asyncio.create_task(self._show_after(before, said))
        if before is not None:
            await asyncio.shield(before)

    async def _show_after(
        self, before: asyncio.Task[None] | None, said: Sequence[IndexedText]
    ) -> None:
        if before is not None:
            await asyncio.wait([before])
        await self._vectors.publish_committed(said)
