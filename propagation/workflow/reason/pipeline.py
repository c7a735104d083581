"""Pipeline of interactions, for a reasoner that waits for a language model.

Interactions of different users run concurrently, and each is committed when it is done. Those of
one user stay in order, because claims take them in order. Two interactions that share an item both
draft on the version that they read. When the later one is committed, its edits are applied to the
newer version; it is reasoned again only if both edited one line.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from propagation.model import NO_USAGE, EditClash, PropagationError, ReasonClaim, ReasonWork, Usage
from propagation.ports import (
    GraphStore,
    ModelWork,
    VersionClash,
    asking_for,
    texts_read_after,
)
from propagation.workflow.concurrency import CommitLock, Leases, keep_renewing
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.reason.drafting import OnCommitted
from propagation.workflow.reason.interaction import (
    DraftedInteraction,
    InteractionReasoning,
    WorkingSet,
    get_newest_texts,
    list_clients_of,
)
from propagation.workflow.reason.pace import Pace
from propagation.workflow.reason.rebase import rebase_interaction
from propagation.workflow.settings import WorkflowSettings

log = logging.getLogger(__name__)


@dataclass
class ClaimRenewal:
    """Takes the claims of one process and renews them.

    Each claim lasts as long as a lease. If this process stalls for longer than a claim lasts, the
    claim is lost, and its commit raises LeaseLost.
    """

    store: GraphStore
    leases: Leases
    _tokens: set[int] = field(default_factory=set)
    _renewal: asyncio.Task[None] | None = None

    async def take(self, limit: int) -> ReasonClaim | None:
        """Claim the next interactions (see ReasonStore.claim_reason)."""
        return await self.store.claim_reason(self.leases.holder, limit, self.leases.ttl_ms)

    async def take_dead_letters(self, limit: int) -> ReasonClaim | None:
        """Claim the oldest queued dead letters (see ReasonStore.claim_dead_letters)."""
        return await self.store.claim_dead_letters(self.leases.holder, limit, self.leases.ttl_ms)

    @asynccontextmanager
    async def keep_alive(self, claim: ReasonClaim) -> AsyncIterator[None]:
        """Renew a claim, together with all others, until the body ends.

        If the body fails or is cancelled, the claim is given back; if the store refuses even that,
        the claim expires.
        """
        self._tokens.add(claim.token)
        if self._renewal is None:
            self._renewal = asyncio.create_task(
                keep_renewing("a claim of interactions", self._renew, self.leases.renewal_seconds)
            )
        try:
            yield
        except BaseException:
            with suppress(PropagationError):
                await asyncio.shield(self.store.commit_reasoned(claim, ()))
            raise
        finally:
            self._tokens.discard(claim.token)
            if not self._tokens and self._renewal is not None:
                renewal, self._renewal = self._renewal, None
                renewal.cancel()
                await asyncio.gather(renewal, return_exceptions=True)

    async def _renew(self) -> bool:
        await self.store.renew_claims(sorted(self._tokens), self.leases.ttl_ms)
        return True


DescribeFirst = Callable[[Sequence[int]], Awaitable[None]]
"""Waits until clients are described, before all others."""
MAX_COMMIT_ATTEMPTS = 5
POLL_SECONDS = 0.1


async def need_nothing(refs: Sequence[int]) -> None:
    """Describe nothing first."""


class _LostAttempt(PropagationError):
    """Another interaction edited the same line.

    Attributes:
        usage: The cost of all attempts so far.
    """

    def __init__(self, usage: Usage) -> None:
        super().__init__(
            "another process edits the same lines; the interaction will be tried again later"
        )
        self.usage = usage


@dataclass
class Pipeline:
    """Keeps as many interactions under way as the reasoner takes.

    Args:
        keep_for: Told for how many interactions the reasoner is to keep room.
        pace: Learns when there is work.
        on_committed: Called with each interaction that is committed.

    Attributes:
        done: How many interactions were committed.
        redone: How many were reasoned again because another one edited the same line.
    """

    store: GraphStore
    interactions: InteractionReasoning
    vectors: VectorSync
    settings: WorkflowSettings
    claims: ClaimRenewal
    concurrency: int
    keep_for: Callable[[int], None]
    pace: Pace
    on_committed: OnCommitted
    _commit_lock: CommitLock = field(default_factory=CommitLock)
    _receiving: set[int] = field(default_factory=set)
    _running: set[asyncio.Task[None]] = field(default_factory=set)
    _kept: int = 0
    done: int = 0
    redone: int = 0

    @property
    def under_way(self) -> int:
        """How many interactions are under way."""
        return len(self._running)

    async def step(self, describe_first: DescribeFirst = need_nothing) -> int:
        """Begin interactions, and wait until some are done.

        While there is room for more interactions, the wait is at most POLL_SECONDS.

        Args:
            describe_first: Awaited with the clients of an interaction before it begins.

        Returns:
            How many interactions succeeded or are under way.

        Raises:
            Exception: All interactions that ended now have failed; this is the error of one. They
                are free again, and the others go on.
        """
        while len(self._running) < self.concurrency:
            claim = await self.claims.take(1)
            if claim is None:
                self._keep(len(self._running))
                break
            with asking_for(ModelWork.INTERACTION):
                self._running.add(asyncio.create_task(self._run(claim, describe_first)))
            # Those that ended are not subtracted until no claim takes their place: between two
            # interactions of one user, another kind of work would take the slot.
            self._keep(max(self._kept, len(self._running)))
        if not self._running:
            self.pace.pause()
            return 0
        self.pace.resume()
        done, self._running = await asyncio.wait(
            self._running,
            timeout=POLL_SECONDS if len(self._running) < self.concurrency else None,
            return_when=asyncio.FIRST_COMPLETED,
        )
        return count_successes(done) + len(self._running)

    async def settle(self) -> None:
        """Wait until no interaction is under way.

        Errors are ignored: an interaction that failed is free again, and a later step takes it.
        """
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running = set()
        self._keep(0)

    async def close(self) -> None:
        """Cancel all interactions under way, as if they had not begun."""
        for task in self._running:
            task.cancel()
        await self.settle()

    def _keep(self, interactions: int) -> None:
        """Tell the reasoner for how many interactions it keeps room."""
        if interactions != self._kept:
            self._kept = interactions
            self.keep_for(interactions)

    async def _run(self, claim: ReasonClaim, describe_first: DescribeFirst) -> None:
        """Reason and commit the only interaction of a claim."""
        [work] = claim.work
        async with self.claims.keep_alive(claim):
            await describe_first(list_clients_of(work))
            try:
                await self._attempt(claim, work, NO_USAGE)
            except _LostAttempt as lost:
                self.redone += 1
                refs = list_clients_of(work)
                async with self._commit_lock.reserve(refs):
                    await self._attempt(claim, work, lost.usage, reserved=refs)

    async def _attempt(
        self, claim: ReasonClaim, work: ReasonWork, usage: Usage, reserved: Sequence[int] = ()
    ) -> None:
        """Reason an interaction on the newest texts, and commit it.

        Args:
            usage: What earlier attempts cost.
            reserved: Clients whose texts no other interaction of this process may commit.

        Raises:
            _LostAttempt: Another writer edited the same line meanwhile.
        """
        await self.interactions.yield_to_calls()
        with texts_read_after(await self.store.get_last_withdrawal()):
            working_set = await self.interactions.load_newest_working_set(work)
            receiving = self._take_messages(working_set)
            try:
                drafted = await self.interactions.draft(work, working_set)
                usage += drafted.reasoned.usage
                await self.interactions.yield_to_calls()
                await self._commit(claim, working_set, drafted, usage, reserved)
            except EditClash as error:
                raise _LostAttempt(usage) from error
            finally:
                self._receiving.difference_update(receiving)

    def _take_messages(self, working_set: WorkingSet) -> list[int]:
        """Take the waiting messages that no other interaction merges.

        The others are removed from the working set.

        Returns:
            The clients whose messages this interaction merges.
        """
        for ref in self._receiving.intersection(working_set.waiting):
            working_set.waiting[ref] = ()
        receiving = [ref for ref, messages in working_set.waiting.items() if messages]
        self._receiving.update(receiving)
        return receiving

    async def _commit(
        self,
        claim: ReasonClaim,
        working_set: WorkingSet,
        drafted: DraftedInteraction,
        usage: Usage,
        reserved: Sequence[int],
    ) -> None:
        """Commit an interaction on the newest texts.

        This process commits one interaction at a time.

        Args:
            usage: What all attempts cost.

        Raises:
            EditClash: The edits do not apply to the newest texts.
            VersionClash: Other processes were first MAX_COMMIT_ATTEMPTS times in a row.
        """
        refs = list(working_set.texts)
        cache, done = self.interactions.cache, replace(drafted.reasoned, usage=usage)
        async with self._commit_lock.hold(refs, reserved):
            for _ in range(MAX_COMMIT_ATTEMPTS):
                newest = await cache.load_newest(refs)
                if drafted.draft is not None and any(
                    newest[ref].profile.version != working_set.texts[ref].profile.version
                    for ref in refs
                ):
                    done = rebase_interaction(
                        drafted.draft,
                        done,
                        newest,
                        working_set.last_round,
                        self.settings.profile_lines,
                    )
                try:
                    await self.store.commit_reasoned(claim, [done])
                    break
                except VersionClash:
                    cache.forget(refs)
            else:
                raise VersionClash(refs[0])
            self.done += 1
            texts = get_newest_texts([done])
            cache.put_all(texts)
            await self.vectors.publish(list(texts.values()))
        await self.on_committed([done])


def count_successes(done: set[asyncio.Task[None]]) -> int:
    """Count the tasks that succeeded, and log why others failed.

    Raises:
        Exception: The error of one task, if some failed and none succeeded.
    """
    failed = [
        error for task in done if not task.cancelled() and (error := task.exception()) is not None
    ]
    if failed and len(failed) == len(done):
        raise failed[0]
    for error in failed:
        log.warning("an interaction could not be reasoned and will be tried again: %s", error)
    return len(done) - len(failed)
