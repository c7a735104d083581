"""Stage 1 with a reasoner that is waited for: interactions of different users side by side, each
committed when it is done.

One user's interactions stay in order (the claim sees to it). Two that share an item both write on
the version they saw; the later one's edits are applied to the newer version, and only where both
edited one line it is reasoned again (`redone`)."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from propagation.model.clients.client_text import ClientText
from propagation.model.clients.profile import EditClash
from propagation.model.errors import LeaseLost, PropagationError
from propagation.model.interactions.reasoning import (
    ReasonClaim,
    ReasonedInteraction,
    ReasonWork,
)
from propagation.model.usage import NO_USAGE, Usage
from propagation.ports.graph.graph_store import GraphStore, VersionClash
from propagation.workflow.concurrency.locks import CommitLock
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.reason.claim_renewal import ClaimRenewal
from propagation.workflow.reason.interaction import (
    Draft,
    InteractionReasoning,
    WorkingSet,
    clients_of,
)
from propagation.workflow.reason.rebase import rebase_interaction
from propagation.workflow.settings import WorkflowSettings

TRIES = 5
LOOK_SECONDS = 0.1


class _Clashed(PropagationError):
    """Another edited the same line; `usage` is what the lost attempt cost."""

    def __init__(self, usage: Usage) -> None:
        super().__init__(
            "another process edits the same lines: the interaction is tried again later"
        )
        self.usage = usage


class Pipeline:
    """`done` counts interactions; `redone` those that were reasoned again since two edited one
    line."""

    def __init__(
        self,
        store: GraphStore,
        interactions: InteractionReasoning,
        vectors: VectorSync,
        settings: WorkflowSettings,
        claims: ClaimRenewal,
        width: int,
    ) -> None:
        self._store = store
        self._interactions = interactions
        self._vectors = vectors
        self._settings = settings
        self._claims = claims
        self._width = width
        self._commit_lock = CommitLock()
        self._receiving: set[int] = set()
        self._running: set[asyncio.Task[None]] = set()
        self.done = 0
        self.redone = 0

    async def step(self) -> int:
        """Begin what there is room for, and wait until some are done, or for a moment where there
        is room for more; how many are done or under way. Raises what stopped one of them: its
        interaction is free again, the others go on."""
        while len(self._running) < self._width:
            claim = await self._claims.take(1)
            if claim is None:
                break
            self._running.add(asyncio.create_task(self._one(claim)))
        if not self._running:
            return 0
        room = len(self._running) < self._width
        done, self._running = await asyncio.wait(
            self._running,
            timeout=LOOK_SECONDS if room else None,
            return_when=asyncio.FIRST_COMPLETED,
        )
        return _counted(done) + len(self._running)

    async def settle(self) -> None:
        """Wait for everything under way; nothing new is begun. What was stopped is free again, and
        told by the next step that is stopped by the same."""
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running = set()

    async def close(self) -> None:
        """Give up what is under way: it is as if it had not begun."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running = set()

    async def _one(self, claim: ReasonClaim) -> None:
        try:
            async with self._claims.keep_alive(claim):
                await self._reasoned(claim)
        except BaseException:
            with suppress(LeaseLost):
                await asyncio.shield(self._store.commit_reasoned(claim, ()))
            raise

    async def _reasoned(self, claim: ReasonClaim) -> None:
        [work] = claim.work
        try:
            await self._attempted(claim, work, NO_USAGE)
        except _Clashed as lost:
            self.redone += 1
            mine = clients_of(work)
            async with self._commit_lock.reserve(mine):
                await self._attempted(claim, work, lost.usage, mine)

    async def _attempted(
        self, claim: ReasonClaim, work: ReasonWork, usage: Usage, mine: Sequence[int] = ()
    ) -> None:
        """On the newest texts there are. Raises _Clashed where a line was edited by another
        meanwhile, which can't be where all clients are `mine`, but by another process."""
        await self._interactions.yield_to_calls()
        working_set = await self._interactions.newest_working_set(work)
        receiving = self._take_waiting(working_set)
        drafts: list[Draft] = []
        try:
            done = await self._interactions.retry(
                work, lambda: self._drafted(work, working_set, drafts)
            )
            usage += done.usage
            await self._interactions.yield_to_calls()
            await self._committed(claim, working_set, drafts, replace(done, usage=usage), mine)
        except EditClash as error:
            raise _Clashed(usage) from error
        finally:
            self._receiving.difference_update(receiving)

    def _take_waiting(self, working_set: WorkingSet) -> list[int]:
        """The clients for which this interaction is the one that receives; what another is
        receiving already waits no more."""
        waiting = [ref for ref, messages in working_set.waiting.items() if messages]
        for ref in waiting:
            if ref in self._receiving:
                working_set.waiting[ref] = ()
        mine = [ref for ref in waiting if working_set.waiting[ref]]
        self._receiving.update(mine)
        return mine

    async def _drafted(
        self, work: ReasonWork, working_set: WorkingSet, drafts: list[Draft]
    ) -> ReasonedInteraction:
        draft, done = await self._interactions.draft(work, working_set)
        drafts.append(draft)
        return done

    async def _committed(
        self,
        claim: ReasonClaim,
        working_set: WorkingSet,
        drafts: Sequence[Draft],
        done: ReasonedInteraction,
        mine: Sequence[int],
    ) -> None:
        """On the newest texts, one commit at a time in this process; without a draft it is a dead
        letter. Raises EditClash."""
        refs = list(working_set.texts)
        async with self._commit_lock.hold(refs, mine):
            for _ in range(TRIES):
                newest = await self._interactions.cache.load_newest(refs)
                if drafts and any(
                    newest[ref].profile.version != working_set.texts[ref].profile.version
                    for ref in refs
                ):
                    done = rebase_interaction(
                        drafts[-1],
                        done,
                        newest,
                        working_set.last_round,
                        self._settings.profile_lines,
                    )
                try:
                    await self._store.commit_reasoned(claim, [done])
                    break
                except VersionClash:
                    self._interactions.forget(refs)
            else:
                raise VersionClash(refs[0])
            await self._publish(done)

    async def _publish(self, done: ReasonedInteraction) -> None:
        self.done += 1
        texts: Mapping[int, ClientText] = {text.profile.ref: text for text in done.texts}
        self._interactions.committed(texts)
        await self._vectors.publish(list(texts.values()))


def _counted(done: set[asyncio.Task[None]]) -> int:
    """How many ended well. Raises what the first of the others ended with, where none did."""
    failed = [
        error for task in done if not task.cancelled() and (error := task.exception()) is not None
    ]
    if failed and len(failed) == len(done):
        raise failed[0]
    return len(done) - len(failed)
