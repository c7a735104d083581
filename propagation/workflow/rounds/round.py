"""Stage 2 of Algorithm 1 (lines 13 to 20): a propagation round, many commits and one publication."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass

from propagation.model.clients.client import Client, ClientKind, kind_of
from propagation.model.errors import LeaseHeld, ReasonerFailed, ReasonerUnavailable
from propagation.model.routers.round import Round
from propagation.model.routers.router import RouterVersion, RoutingEdge
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.graph.leases import Lease
from propagation.ports.reasoner import AnswerPart, Integration, Reasoner, Summary
from propagation.routing.integration import (
    arrived_counts,
    asked_of,
    commonness,
    integrated,
    standing_after,
    verbatim,
)
from propagation.routing.multicast import changes
from propagation.routing.policy import Arrival, Perceiving, RoutingPolicy
from propagation.workflow.concurrency.leases import ROUND_LEASE, Leases
from propagation.workflow.concurrency.tasks import background_task
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.rounds.perception import AttributePerception, PerceivedAttributes
from propagation.workflow.rounds.postponed_routers import PostponedRouters, arrivals_by_router
from propagation.workflow.settings import WorkflowSettings

EDGES_A_COMMIT = 10_000
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PendingChanges:
    """What a round would have now: the clients that changed after the last boundary, and up to the
    next. `first`: the routers of a bootstrap have no profiles yet, and everybody is in the round
    that gives them."""

    changed: Sequence[int]
    after: int
    boundary: int
    first: bool = False


class PropagationRound:
    """Runs one round at a time under the round lease. `described`: the sequence up to which all
    clients are described, at most the one it is given. `yield_to_calls` is awaited between routers; what
    computes over all edges does so beside the loop. `postponed`: the routers whose summary failed in
    the last round, and why; what arrived there is in the next round. `first`: by what a bootstrap's
    first round perceives, when no router has a profile."""

    def __init__(
        self,
        store: GraphStore,
        reasoner: Reasoner,
        policy: RoutingPolicy,
        perception: AttributePerception,
        vectors: VectorSync,
        settings: WorkflowSettings,
        leases: Leases,
        described: Callable[[int], int],
        yield_to_calls: Callable[[], Awaitable[None]],
        first: Callable[[], Perceiving],
    ) -> None:
        self._store = store
        self._reasoner = reasoner
        self.policy = policy
        self._perception = perception
        self._vectors = vectors
        self._settings = settings
        self._leases = leases
        self._described = described
        self._give_way = yield_to_calls
        self._first = first
        self._first_done = False
        self._postponed_routers = PostponedRouters(store)
        self.postponed: dict[int, str] = {}

    async def due(self) -> PendingChanges:
        last = await self._store.last_round()
        after = last.boundary if last else 0
        boundary = max(after, self._described(await self._store.reasoned_through()))
        if not self._first_done:
            if await self._lacks_first(last):
                return PendingChanges(
                    changed=sorted(await self._store.text_versions()),
                    after=0,
                    boundary=boundary,
                    first=True,
                )
            self._first_done = True
        return PendingChanges(
            changed=list(await self._store.changed_clients(after, boundary)),
            after=after,
            boundary=boundary,
        )

    def new_epoch(self) -> None:
        """This process opens one, whose first round is due."""
        self._first_done = False

    async def run(self) -> Round | None:
        """One round over everything reasoned so far; None when nothing changed. Raises LeaseHeld
        when another process runs one."""
        async with self._leases.hold(ROUND_LEASE) as lease:
            if lease is None:
                raise LeaseHeld(ROUND_LEASE)
            self._first_done = (
                False  # another process may have opened an epoch, and died before its first round
            )
            due = await self.due()
            return await self._run(lease, due, self._first() if due.first else self.policy)

    async def _lacks_first(self, last: Round | None) -> bool:
        """Whether no round was published since the newest bootstrap, whose routers have profiles to
        be written."""
        current = await self._store.current_epoch() if self.policy.summarises else None
        if current is None or (last is not None and last.sequence > current.sequence):
            return False
        era = next(
            (epoch for epoch in await self._store.epochs() if epoch.number == current.era), current
        )
        return last is None or last.sequence <= era.sequence

    async def _run(self, lease: Lease, due: PendingChanges, perceiving: Perceiving) -> Round | None:
        """What is due is asked under the lease: another process' round cannot come between."""
        left = await self._postponed_routers.waiting()
        if not due.changed and not left[1]:
            return None
        current = await self._store.current_epoch()
        epoch = current.number if current else 0
        round_ = await self._store.begin_round(lease, due.boundary)
        await self._vectors.refresh_canonical(round_.number - 1)
        perceived = await self._perception.perceive(due.changed, due.after, self._vectors.canonical)
        self._vectors.canonical.update(perceived.mapped)
        await self._vectors.write(perceived.remapped)
        groups = await arrivals_by_router(perceived.arrivals, epoch, left, perceiving)
        versions, failed = await self._integrate(round_, groups, epoch)
        async with background_task(self._stage(lease, round_, perceived, versions)) as staging:
            closed, opened = await self._multicast(due.changed, versions)
            await asyncio.gather(staging, self._stage_edges(lease, round_, closed, opened))
        await self._postponed_routers.stage(
            lease, round_, epoch, {router: groups[router] for router in failed}
        )
        done = await self._store.publish_round(
            lease,
            round_.model_copy(
                update={
                    "changed": len(due.changed),
                    "touched": len(versions),
                    "edges_opened": len(opened),
                    "edges_closed": len(closed),
                    "reached": len({edge.ref for edge in opened}),
                }
            ),
        )
        self._vectors.add_canonical(done.number, perceived.mapped)
        self.postponed = failed
        await self._vectors.publish_round(done, perceived.remapped, perceived.fresh, versions)
        return done

    async def _integrate(
        self, round_: Round, groups: Mapping[int, Sequence[Arrival]], epoch: int
    ) -> tuple[list[RouterVersion], dict[int, str]]:
        """(new versions of the routers that something arrived at, and why each of the others
        failed)."""
        routers = sorted({*self._vectors.routers, *groups})
        numbers = await self._store.version_numbers(routers)
        if not self.policy.summarises:
            return await self._verbatim(round_, groups, numbers, epoch), {}
        before = {version.router: version for version in await self._store.router_versions(routers)}
        titles = await self._titles({arrival.ref for group in groups.values() for arrival in group})
        asked = await asyncio.to_thread(_asked, groups, before, titles)
        versions: list[RouterVersion] = []
        failed: dict[int, str] = {}
        for one, (summary, author) in zip(asked, await self._summaries(asked), strict=True):
            if isinstance(summary, ReasonerFailed):
                failed[one.router] = str(summary)
                log.warning(
                    "router %d is left out of round %d, and due in the next: %s",
                    one.router,
                    round_.number,
                    summary,
                )
                continue
            number = numbers.get(one.router, 0) + 1
            versions.append(
                integrated(one, summary, number, groups[one.router], round_.number, epoch, author)
            )
            await self._give_way()
        return versions, failed

    async def _summaries(
        self, asked: Sequence[Integration]
    ) -> list[tuple[AnswerPart[Summary], str]]:
        """Eq. 3, some routers at a time, and who wrote each. Raises ReasonerUnavailable: the round
        waits."""
        out: list[tuple[AnswerPart[Summary], str]] = []
        at_once = self._reasoner.router_batch_size
        for start in range(0, len(asked), at_once):
            part = asked[start : start + at_once]
            try:
                answer = await self._reasoner.summarize(part)
                out.extend((summary, answer.usage.author) for summary in answer.summaries)
            except ReasonerUnavailable:
                raise
            except ReasonerFailed as error:
                out.extend([(error, "")] * len(part))
            await self._give_way()
        return out

    async def _verbatim(
        self,
        round_: Round,
        groups: Mapping[int, Sequence[Arrival]],
        numbers: Mapping[int, int],
        epoch: int,
    ) -> list[RouterVersion]:
        """Every group has one sender (point-to-point)."""
        senders = {router: group[0].ref for router, group in groups.items()}
        texts = await self._store.load_texts(sorted(senders.values()))
        clients = {
            client.ref: client for client in await self._store.get_clients(sorted(senders.values()))
        }
        return [
            verbatim(
                router,
                numbers.get(router, 0) + 1,
                group,
                round_.number,
                epoch,
                _sender_name(clients[senders[router]]),
                texts[senders[router]].profile.text,
            )
            for router, group in groups.items()
        ]

    async def _titles(self, refs: Set[int]) -> dict[int, str]:
        items = sorted(ref for ref in refs if kind_of(ref) == ClientKind.ITEM)
        return {
            client.ref: client.title
            for client in await self._store.get_clients(items)
            if client.title and not client.hidden
        }

    async def _multicast(
        self, changed: Sequence[int], versions: Sequence[RouterVersion]
    ) -> tuple[list[tuple[int, int]], list[RoutingEdge]]:
        """(edges to close, edges to open): the routing table's change."""
        table = await self.policy.route(changed, versions)
        standing = [
            edge for edges in (await self._store.edges_of(table.clients)).values() for edge in edges
        ]
        standing.extend(await self._store.edges_to(table.routers) if table.routers else ())
        return await asyncio.to_thread(changes, standing, table, self._settings.score_step)

    async def _stage(
        self,
        lease: Lease,
        round_: Round,
        perceived: PerceivedAttributes,
        versions: Sequence[RouterVersion],
    ) -> None:
        """At once, so that a store which groups its commits needs one."""
        await asyncio.gather(
            self._store.stage_attributes(lease, round_, perceived.rows, perceived.held),
            self._store.stage_routers(lease, round_, versions),
            self._store.stage_changes(
                lease,
                round_,
                self._vectors.outbox_changes(perceived.remapped, perceived.fresh, versions),
            ),
        )

    async def _stage_edges(
        self,
        lease: Lease,
        round_: Round,
        closed: Sequence[tuple[int, int]],
        opened: Sequence[RoutingEdge],
    ) -> None:
        """The table's change, in parts, at once as above."""
        await asyncio.gather(
            *(
                self._store.stage_edges(
                    lease,
                    round_,
                    closed[start : start + EDGES_A_COMMIT],
                    opened[start : start + EDGES_A_COMMIT],
                )
                for start in range(0, max(len(closed), len(opened)), EDGES_A_COMMIT)
            )
        )


def _asked(
    groups: Mapping[int, Sequence[Arrival]],
    before: Mapping[int, RouterVersion],
    titles: Mapping[int, str],
) -> list[Integration]:
    """What eq. 3 asks of each router that something arrived at. Runs beside the loop: a round may
    have thousands of arrivals."""
    common = _common(before, groups)
    return [
        asked_of(
            router,
            before.get(router),
            group,
            common,
            list(dict.fromkeys(titles[arrival.ref] for arrival in group if arrival.ref in titles)),
        )
        for router, group in groups.items()
    ]


def _sender_name(client: Client) -> str:
    """An item by its title; a user is not named to others."""
    kind = client.key.kind
    return client.title if kind == ClientKind.ITEM and client.title else f"one {kind.name.lower()}"


def _common(
    before: Mapping[int, RouterVersion], groups: Mapping[int, Sequence[Arrival]]
) -> dict[str, float]:
    """How common each attribute is among all routers, this round's arrivals included."""
    untouched = [
        dict(version.standing) for router, version in before.items() if router not in groups
    ]
    touched = [
        standing_after(before.get(router), arrived_counts(group))
        for router, group in groups.items()
    ]
    return commonness([*untouched, *touched])
