"""A propagation round, and when it is due (Algorithm 1, stage 2).

A round stages its results in many commits and publishes them in one. Before it, Algorithm 1
optimises the routers (lines 14 and 15): workflow/evolve/evolution.py does so, and Engine.run_round
runs the optimisation when it is due.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from propagation.model import Round, RoundAbandoned, RouterVersion
from propagation.ports import (
    POSTPONED_ARRIVALS,
    GraphStore,
    Lease,
    ModelWork,
    Reasoner,
    asking_for,
)
from propagation.routing import (
    Perception,
    PostponedArrivals,
    RoutingPolicy,
    TableChange,
    find_table_changes,
    stage_table_change,
)
from propagation.workflow.concurrency import ROUND_LEASE, Leases, run_in_background
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.rounds.attribute_perception import (
    AttributePerception,
    PerceivedAttributes,
    assign_to_routers,
)
from propagation.workflow.rounds.router_integration import RouterIntegration
from propagation.workflow.settings import WorkflowSettings


@dataclass(frozen=True)
class PendingChanges:
    """The clients that changed between the last round's boundary and this one's.

    Attributes:
        clients: Refs of the clients.
        after: The last round's boundary.
        through: This round's boundary.
        first: Whether this is the first round after a bootstrap: the routers have no profiles yet,
            and the round that writes them covers every client.
    """

    clients: Sequence[int]
    after: int
    through: int
    first: bool = False


class PropagationRound:
    """Finds what the next round has to do, and runs it.

    One round runs at a time, under the round lease.

    Rounds run apart from interactions, over batches of changes (RecNet 2.5, asynchronous
    optimisation): one is due after `update_size` clients changed (Algorithm 1, line 13).

    Attributes:
        postponed: Why the last round left a router out, by router.

    Args:
        find_end: Returns the sequence up to which a round may cover texts, given the one up to
            which interactions are reasoned.
        yield_to_calls: Awaited between routers.
    """

    def __init__(
        self,
        store: GraphStore,
        reasoner: Reasoner,
        policy: RoutingPolicy,
        perception: AttributePerception,
        vectors: VectorSync,
        settings: WorkflowSettings,
        leases: Leases,
        find_end: Callable[[int], int],
        yield_to_calls: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self.policy = policy
        self._perception = perception
        self._integration = RouterIntegration(
            store, reasoner, vectors, perception.numbers, settings.min_support, yield_to_calls
        )
        self._vectors = vectors
        self._settings = settings
        self._leases = leases
        self._find_end = find_end
        self.postponed: dict[int, str] = {}
        self._abandonable: asyncio.Task[Round | None] | None = None
        self._giving_way_to = self._abandoned_for = ""

    async def is_due(self, clients: int) -> bool:
        """Tell whether enough clients have changed.

        Args:
            clients: How many clients there are.
        """
        pending = await self.find_pending()
        return len(pending.clients) >= self._settings.update_size_for(clients)

    async def find_pending(self) -> PendingChanges:
        """Find the clients that changed since the last round."""
        last = await self._store.get_last_round()
        after = last.boundary if last else 0
        through = max(after, self._find_end(await self._store.get_reasoned_through()))
        if await self._lacks_first(last):
            return PendingChanges(
                sorted(await self._store.get_text_versions()), after=0, through=through, first=True
            )
        return PendingChanges(
            await self._store.find_changed_clients(after, through), after=after, through=through
        )

    async def _lacks_first(self, last: Round | None) -> bool:
        """Tell whether the newest bootstrap's first round is not published.

        A process may have opened the epoch and died before the round.
        """
        bootstrap = await self._store.get_bootstrap_sequence()
        return bootstrap > 0 and (last is None or last.sequence <= bootstrap)

    async def run(self) -> Round | None:
        """Run one round over everything reasoned so far.

        Returns:
            The round; None if nothing had changed, or if rounds give way before it begins.

        Raises:
            LeaseHeld: Another process runs a round.
            RoundAbandoned: It had begun, and gave way (`give_way`).
        """
        async with self._leases.require(ROUND_LEASE) as lease:
            # Under the lease, so that another process' round cannot come between.
            pending = await self.find_pending()
            perception = self._perception.perceive_by_centres() if pending.first else self.policy
            # Last before the round begins, so that none begins unseen by `give_way`.
            if self._giving_way_to:
                return None
            try:
                with asking_for(ModelWork.ROUTERS):
                    running = asyncio.create_task(self._run(lease, pending, perception))
                self._abandonable = running
                return await running
            except BaseException as error:
                self._vectors.canonical.round = -1
                caller = asyncio.current_task()
                assert caller is not None, "rounds run in tasks"
                if isinstance(error, asyncio.CancelledError) and not caller.cancelling():
                    raise RoundAbandoned(self._abandoned_for) from None
                raise
            finally:
                self._abandonable = None

    @contextmanager
    def give_way(self, reason: str) -> Iterator[None]:
        """Abandon this process's running round; begin none within the block.

        An abandoned round has no effect. A slow model may write routers' texts for many minutes. A
        round that publishes already is not abandoned: it asks no model any more, and part of it may
        be durable.

        Args:
            reason: Why, for the message of RoundAbandoned.
        """
        self._giving_way_to = reason
        if self._abandonable is not None:
            self._abandoned_for = reason  # that round may end after this block
            self._abandonable.cancel()
        try:
            yield
        finally:
            self._giving_way_to = ""

    async def _run(
        self, lease: Lease, pending: PendingChanges, perception: Perception
    ) -> Round | None:
        """Run a round and publish its result in one commit.

        Returns:
            The round, or None if nothing had changed.

        Source: Algorithm 1, lines 16 to 20.
        """
        postponed = PostponedArrivals.unpack(await self._store.get_blob(POSTPONED_ARRIVALS))
        if not pending.clients and not postponed.groups:
            return None
        current = await self._store.get_current_epoch()
        epoch = current.number if current else 0
        round_ = await self._store.begin_round(lease, pending.through)
        await self._vectors.canonical.refresh()

        perceived = await self._perception.extract(
            pending.clients, pending.after, self._vectors.canonical.targets
        )  # eq. 1
        # Routing reads the index, so the index must have the new names first.
        self._vectors.canonical.add(perceived.mapped)
        await self._vectors.write(perceived.remapped)
        postponed = await self._perception.keep_postponed(
            postponed, perceived.rows, self._vectors.canonical.targets
        )
        groups = await assign_to_routers(perceived.arrivals, postponed, epoch, perception)  # eq. 2
        routers = await self._integration.integrate(round_, epoch, groups)  # eq. 3
        async with run_in_background(
            self._stage(lease, round_, perceived, routers.versions)
        ) as staging:
            change = await self._find_table_changes(pending.clients, routers.versions)  # eq. 4
            await asyncio.gather(staging, stage_table_change(self._store, lease, round_, change))

        summary = round_.model_copy(
            update={
                "changed": len(pending.clients),
                "touched": len(routers.versions),
                "edges_opened": len(change.opened),
                "edges_closed": len(change.closed),
                "reached": len({edge.ref for edge in change.opened}),
            }
        )
        failed = PostponedArrivals(epoch, {router: groups[router] for router in routers.failed})
        self._abandonable = None  # the commit and what follows from it belong together
        published = await self._store.publish_round(lease, summary, failed.pack())
        self.postponed = routers.failed
        self._vectors.canonical.add(perceived.mapped, published.number)
        await self._vectors.publish_round(
            published, perceived.remapped, perceived.new, routers.versions
        )
        return published

    async def _find_table_changes(
        self, clients: Sequence[int], versions: Sequence[RouterVersion]
    ) -> TableChange:
        """Route again where the table may have changed (RecNet, 2.3).

        Args:
            clients: Refs of the clients whose attributes changed.
            versions: The routers' new messages.

        Returns:
            The edges to open and to close.
        """
        table = await self.policy.route(clients, versions)
        by_client = await self._store.get_edges(table.clients)
        edges = [edge for found in by_client.values() for edge in found]
        edges.extend(await self._store.get_edges_to(table.routers) if table.routers else ())
        return await asyncio.to_thread(find_table_changes, edges, table, self._settings.score_step)

    async def _stage(
        self,
        lease: Lease,
        round_: Round,
        perceived: PerceivedAttributes,
        versions: Sequence[RouterVersion],
    ) -> None:
        """Stage attributes, routers and index changes concurrently: a store may group them."""
        await asyncio.gather(
            self._store.stage_attributes(lease, round_, perceived.rows, perceived.by_client),
            self._store.stage_routers(lease, round_, versions),
            self._store.stage_changes(
                lease,
                round_,
                self._vectors.build_outbox_changes(perceived.remapped, perceived.new, versions),
            ),
        )
