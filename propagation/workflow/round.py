"""Stage 2 of Algorithm 1 (lines 13 to 20): a propagation round, many commits and one publication."""

from collections.abc import Mapping, Sequence

from propagation.model.client import ClientKind, kind_of
from propagation.model.round import Round
from propagation.model.router import RouterVersion, RoutingEdge
from propagation.ports.graph import GraphStore
from propagation.ports.leases import Lease
from propagation.ports.reasoner import Reasoner
from propagation.routing.integration import arrived_counts, commonness, grouped, integrate, standing_after
from propagation.routing.multicast import changes
from propagation.routing.perception import arrivals_of, counted, own_attributes
from propagation.routing.policy import Arrival, RoutingPolicy
from propagation.workflow.settings import WorkflowSettings

LEASE = "round"
LEASE_MS = 60_000
EDGES_A_COMMIT = 10_000


class Stage2:
    """Runs one round at a time under the round lease."""

    def __init__(self, store: GraphStore, reasoner: Reasoner, policy: RoutingPolicy, settings: WorkflowSettings,
                 holder: str) -> None:
        self._store = store
        self._reasoner = reasoner
        self._policy = policy
        self._settings = settings
        self._holder = holder

    async def changed_since_last(self) -> tuple[list[int], int, int]:
        """(changed clients, last boundary, the boundary a round would have now)."""
        last = await self._store.last_round()
        after = last.boundary if last else 0
        boundary = await self._store.reasoned_through()
        return list(await self._store.changed_clients(after, boundary)), after, boundary

    async def run(self) -> Round | None:
        """One round over everything reasoned so far; None when nothing changed or another process runs one."""
        lease = await self._store.acquire_lease(LEASE, self._holder, LEASE_MS)
        if lease is None:
            return None
        changed, after, boundary = await self.changed_since_last()
        if not changed:
            return None
        round_ = await self._store.begin_round(lease, boundary)
        arrivals = await self._perceive(lease, round_, changed, after)
        versions = await self._integrate(lease, round_, arrivals)
        opened, closed = await self._multicast(lease, round_, changed, versions)
        reached = len({edge.ref for edge in opened})
        return await self._store.publish_round(lease, round_.model_copy(update={
            "changed": len(changed), "touched": len(versions), "edges_opened": len(opened), "edges_closed": closed,
            "reached": reached}))

    async def _perceive(self, lease: Lease, round_: Round, changed: Sequence[int], after: int) -> list[Arrival]:
        texts = await self._store.load_texts(changed)
        held = await self._store.held_attributes(changed)
        now = {ref: own_attributes(texts[ref]) for ref in changed}
        names = sorted({name for ref in changed for name in (*now[ref], *held[ref])})
        known = dict(await self._store.get_attributes(names))
        recounted = counted(known, held, now)
        known.update(recounted)
        await self._store.stage_attributes(lease, round_, list(recounted.values()), now)
        return [arrival for ref in changed for arrival in arrivals_of(ref, texts[ref], held[ref], after)
                if known[arrival.attribute].holders >= self._settings.min_support]

    async def _integrate(self, lease: Lease, round_: Round, arrivals: Sequence[Arrival]) -> list[RouterVersion]:
        groups = grouped(arrivals, await self._policy.perceive(arrivals))
        before = {version.router: version for version in await self._store.router_versions(range(self._settings.taste.k))}
        common = _common(before, groups)
        epoch = await self._store.current_epoch()
        titles = await self._titles(arrivals)
        versions = []
        for router, group in groups.items():
            examples = [titles[a.ref] for a in group if a.ref in titles]
            versions.append(await integrate(self._reasoner, router, before.get(router), group, round_.number,
                                            epoch.number if epoch else 0, common, list(dict.fromkeys(examples))))
        await self._store.stage_routers(lease, round_, versions)
        return versions

    async def _titles(self, arrivals: Sequence[Arrival]) -> dict[int, str]:
        refs = sorted({arrival.ref for arrival in arrivals if kind_of(arrival.ref) == ClientKind.ITEM})
        return {client.ref: client.title for client in await self._store.get_clients(refs) if client.title and not client.hidden}

    async def _multicast(self, lease: Lease, round_: Round, changed: Sequence[int],
                         versions: Sequence[RouterVersion]) -> tuple[list[RoutingEdge], int]:
        table = await self._policy.route(changed, versions)
        standing = [edge for edges in (await self._store.edges_of(table.clients)).values() for edge in edges]
        closed, opened = changes(standing, table, self._settings.score_step)
        for start in range(0, max(len(closed), len(opened)), EDGES_A_COMMIT):
            end = start + EDGES_A_COMMIT
            await self._store.stage_edges(lease, round_, closed[start:end], opened[start:end])
        return opened, len(closed)


def _common(before: Mapping[int, RouterVersion], groups: Mapping[int, Sequence[Arrival]]) -> dict[str, float]:
    """How common each attribute is among all routers, this round's arrivals included."""
    untouched = [dict(version.standing) for router, version in before.items() if router not in groups]
    touched = [standing_after(before.get(router), arrived_counts(group)) for router, group in groups.items()]
    return commonness([*untouched, *touched])
