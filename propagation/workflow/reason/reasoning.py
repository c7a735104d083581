"""Reasoning of a claim: draft it in parts, commit and publish them.

While one part is committed, the next one is drafted on top of the texts that this part wrote. With
a language model, interactions go through a pipeline instead, one claim for each. Dead letters are
replayed here, too.

Source: `docs/design.md`, "State" and "The loop", step 3.
"""

import asyncio
import math
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Generic

from propagation.model import ReasonClaim, ReasonedInteraction, ReasonedSummary, ReasonWork
from propagation.ports import (
    GraphStore,
    ModelWork,
    VersionClash,
    asking_for,
    texts_read_after,
)
from propagation.workflow.concurrency import Leases
from propagation.workflow.index import IndexedText
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.reason.drafting import DraftedPart, LoopDrafter, T, TextDrafter
from propagation.workflow.reason.interaction import InteractionReasoning, list_clients_of_all
from propagation.workflow.reason.pace import Pace
from propagation.workflow.reason.pipeline import (
    ClaimRenewal,
    DescribeFirst,
    Pipeline,
    need_nothing,
)
from propagation.workflow.reason.prediction_log import PredictionLog
from propagation.workflow.settings import WorkflowSettings

CLAIM = 512
CLAIM_SECONDS = 10.0
PART = 64
MAX_LOST_RACES = 5
PUBLISHED_TOGETHER = 512


class Reasoning:
    """Reasons one claim at a time, or runs a pipeline.

    The pipeline is for a reasoner that waits for a language model. A replay sets `lockstep`: then
    such a reasoner, too, works by claims, and the order in which interactions end changes nothing.

    Args:
        concurrency: How many interactions the reasoner takes at a time.
        predictions: Keeps the predictions of a language model; None: no model reasons.
        drafter: Drafts claims in another process; None: this process does.
    """

    def __init__(
        self,
        store: GraphStore,
        interactions: InteractionReasoning,
        vectors: VectorSync,
        settings: WorkflowSettings,
        leases: Leases,
        concurrency: int,
        predictions: PredictionLog | None,
        drafter: TextDrafter[Any] | None = None,
    ) -> None:
        self._store = store
        self._interactions = interactions
        self._concurrent = concurrency > 1
        self._part = CLAIM if self._concurrent else PART
        self.predictions = predictions
        self.pace = Pace(concurrency)
        self.drafting: TextDrafter[Any] = drafter or self._create_loop_drafter()
        self.drafts_elsewhere = drafter is not None
        self._claims = ClaimRenewal(store, leases)
        self._vectors = vectors
        self._run: ClaimRun[Any] | None = None
        self._publication = TextPublication(vectors)
        self.pipeline = Pipeline(
            store,
            interactions,
            vectors,
            settings,
            self._claims,
            concurrency,
            interactions.keep_for,
            self.pace,
            self._note_committed,
        )
        self.lockstep = False

    @property
    def by_claims(self) -> bool:
        """Whether a step reasons one claim instead of running the pipeline."""
        return not self._concurrent or self.lockstep

    @property
    def committed(self) -> int | None:
        """How many interactions of the running claim are committed, if one runs."""
        return len(self._run.done) if self._run else None

    async def step(self, limit: int = CLAIM, describe_first: DescribeFirst | None = None) -> int:
        """Reason the next claim for at most CLAIM_SECONDS, or run the pipeline.

        Interactions of the claim that remain are free again. In lockstep the claim has no limit.

        Args:
            limit: The most interactions of the claim.
            describe_first: Describes the clients of an interaction before the pipeline begins it.
                With it, the pipeline runs even for one interaction at a time.

        Returns:
            How many interactions were committed; the pipeline also counts those under way.

        Raises:
            LeaseLost: Another process took the claim over.
            VersionClash: Other writers were first MAX_LOST_RACES times in a row.
        """
        if describe_first is not None or not self.by_claims:
            return await self.pipeline.step(describe_first or need_nothing)
        claim = await self._claims.take(limit)
        if claim is None:
            await self.wait_for_views()
            return 0
        return len(await self._reason_claim(claim, self.drafting))

    async def replay_dead_letters(self) -> tuple[int, int]:
        """Try the oldest queued dead letters again.

        Their edits apply to the current texts, and count as written at the newest recorded
        sequence.

        Returns:
            How many succeeded, and how many failed again.
        """
        claim = await self._claims.take_dead_letters(CLAIM)
        if claim is None:
            return 0, 0
        late = await self._store.get_recorded_through()
        drafter = self._create_loop_drafter(late)
        refs = list_clients_of_all(claim.work)
        with texts_read_after(await self._store.get_last_withdrawal()):
            self.drafting.forget(refs)
            self._interactions.cache.forget(refs)
            results = await self._reason_claim(claim, drafter)
        self.drafting.forget(refs)
        failed = sum(result.failed for result in results)
        return len(results) - failed, failed

    async def wait_for_views(self) -> None:
        """Wait until the numbers view and the index have every committed text.

        This includes the texts of a running claim that are committed already.
        """
        if self._run is not None:
            await self._run.publish_changed()
        await self._publication.wait()

    async def settle(self) -> None:
        """Wait until the pipeline is empty and all committed texts are published.

        The caller must keep new interactions from starting.
        """
        await self.pipeline.settle()
        await self.wait_for_views()

    async def close(self) -> None:
        """Cancel the pipeline, publish committed texts, and close the drafter."""
        await self.pipeline.close()
        await self.wait_for_views()
        if self.predictions is not None:
            await self.predictions.save(closing=True)
        await self.drafting.close()

    async def _reason_claim(
        self, claim: ReasonClaim, drafter: TextDrafter[Any]
    ) -> list[ReasonedSummary]:
        """Reason and commit a claim.

        If another writer was first with a client's next version, the rest of the claim is reasoned
        again on newly loaded texts; nothing of the lost attempt is kept.

        Returns:
            The committed interactions.
        """
        self._run = run = ClaimRun(drafter, claim, self._vectors, self._publication)
        self.pace.resume()
        # A round may run between claims, so in a replay no time may end one.
        seconds = math.inf if self.lockstep else CLAIM_SECONDS
        until, lost = time.monotonic() + seconds, 0
        try:
            async with self._claims.keep_alive(claim):
                while True:
                    done = len(run.done)
                    try:
                        with asking_for(ModelWork.INTERACTION):
                            await run.reason(until)
                        break
                    except VersionClash:
                        lost = lost + 1 if len(run.done) == done else 1
                        if lost == MAX_LOST_RACES:
                            raise
        finally:
            self._run = None
            self.pace.pause()
        return run.done

    def _create_loop_drafter(self, late: int | None = None) -> LoopDrafter:
        return LoopDrafter(
            self._interactions,
            self._part,
            late,
            store=self._store,
            on_committed=self._note_committed,
        )

    async def _note_committed(self, done: Sequence[ReasonedInteraction]) -> None:
        """Note the predictions and the pace of a language model."""
        if self.predictions is None:
            return
        self.predictions.note(done)
        for one in done:
            self.pace.add(one.usage)
        await self.predictions.save()


@dataclass
class TextPublication:
    """Publishes committed texts in order, while the next ones are reasoned."""

    vectors: VectorSync
    _in_order: asyncio.Lock = field(default_factory=asyncio.Lock)
    _newest: asyncio.Task[None] | None = None

    async def begin(self, texts: Sequence[IndexedText]) -> None:
        """Begin to publish texts, and wait until the earlier ones are published."""
        before, self._newest = self._newest, asyncio.create_task(self._publish(texts))
        if before is not None:
            await asyncio.shield(before)

    async def wait(self) -> None:
        """Wait until everything handed to `begin` is published."""
        if self._newest is not None:
            # shield: cancelling one waiter must not cancel the task that others wait for.
            await asyncio.shield(self._newest)

    async def _publish(self, texts: Sequence[IndexedText]) -> None:
        async with self._in_order:
            await self.vectors.publish_committed(texts)


@dataclass
class ClaimRun(Generic[T]):
    """One claim, reasoned and committed in parts.

    The commit of the last part gives the claim back.

    Attributes:
        done: The committed interactions.
    """

    drafter: TextDrafter[T]
    claim: ReasonClaim
    vectors: VectorSync
    publication: TextPublication
    _commit: asyncio.Task[None] | None = None
    _changed: dict[int, IndexedText] = field(default_factory=dict)
    done: list[ReasonedSummary] = field(default_factory=list)

    async def reason(self, until: float) -> None:
        """Reason the interactions that are not done yet, at least one.

        Committed texts are published, even if this fails. After an error the rest is as if it had
        not begun, and its texts are loaded again.

        Args:
            until: Time on the monotonic clock, after which no interaction is started.

        Raises:
            VersionClash: Another writer was first with a text.
            LeaseLost: Another process took the claim over.
        """
        finished = {result.sequence for result in self.done}
        works = [work for work in self.claim.work if work.sequence not in finished]
        try:
            await self._reason_parts(works, until - time.monotonic())
            await self._end_commit()
        except BaseException:
            # Cached texts may be older than the stored ones, or never committed.
            self.drafter.forget(list_clients_of_all(self.claim.work))
            raise
        finally:
            if self._commit is not None:
                await asyncio.gather(self._commit, return_exceptions=True)
                self._commit = None
            await self.publish_changed()

    async def publish_changed(self) -> None:
        """Begin to publish the committed texts that were not published yet."""
        if self._changed:
            changed, self._changed = self._changed, {}
            await self.publication.begin(list(changed.values()))

    async def _reason_parts(self, works: Sequence[ReasonWork], seconds: float) -> None:
        """Draft and commit parts; the last commit is left under way."""
        drafts = self.drafter.draft(
            works, seconds, lambda: self._commit is None or self._commit.done()
        )
        async with aclosing(drafts) as parts:
            async for part in parts:
                await self._end_commit()
                if len(self._changed) >= PUBLISHED_TOGETHER:
                    await self.publish_changed()
                self._commit = asyncio.create_task(self._commit_part(part))

    async def _commit_part(self, part: DraftedPart[T]) -> None:
        await self.drafter.commit(self.claim, part)
        self.vectors.note_committed(part.texts)
        self._changed.update((text.ref, text) for text in part.texts)
        self.done.extend(part.summaries)

    async def _end_commit(self) -> None:
        """Wait for the commit under way, and raise its error."""
        task, self._commit = self._commit, None
        if task is not None:
            await task
