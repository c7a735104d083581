"""What an undo publishes: the routers of before, and everything since led back to them (DESIGN,
step 8)."""

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.attribute import rank_by_distinctiveness
from propagation.model.plurals import pluralize
from propagation.model.routers.evolution import EvolutionRun
from propagation.model.routers.router_maps import Halves, RouterMap, RouterMaps, drop_undone_runs
from propagation.numbers.evolve import Written as WrittenMass
from propagation.optimization.evolution_undo import earlier_half, led_back, undoable
from propagation.optimization.router_lineage import Numbering
from propagation.ports.graph.graph_store import GraphStore
from propagation.workflow.evolve.decided_plan import DecidedPlan
from propagation.workflow.evolve.planner import ATTRIBUTES, NewText
from propagation.workflow.learn.learned_weights import Written, aligned_blocks, summed
from propagation.workflow.views.numbers_owner import NumbersOwner


class UndoPlanner:
    """Reads the store and decides; the publisher writes. Learn may go on."""

    def __init__(self, store: GraphStore, numbers: NumbersOwner) -> None:
        self._store = store
        self._numbers = numbers

    async def decided(self, number: int, through: int) -> DecidedPlan:
        """With what was learned up to sequence `through`, which the view has followed at least.
        Raises InvalidInput where the run cannot be undone."""
        maps = await self._store.router_maps()
        change = undoable(maps.maps, number)
        numbering = led_back(change)
        view = self._numbers.view
        before, since = await self._written(maps, change, numbering, through)
        split = {
            merged: _divided(merged, parts, before, since, change, view.users, view.items)
            for merged, parts in numbering.halves.items()
        }
        shares = {
            part: share
            for router, halves in change.halves.items()
            for part, share in ((halves.first, halves.share), (halves.second, 1 - halves.share))
        }
        texts = await self._texts(change)
        run = EvolutionRun(
            undoes=number,
            verdict=(
                f"undoes run {number}: what was written since goes to its users' earlier routers; {pluralize(len(texts), 'router')}"
                f" {'says' if len(texts) == 1 else 'say'} again what was said before"
            ),
        )
        return DecidedPlan(
            run,
            numbering,
            split,
            texts,
            maps,
            through,
            np.zeros(change.routers),
            shares,
            change.centres,
        )

    async def _written(
        self, maps: RouterMaps, change: RouterMap, numbering: Numbering, through: int
    ) -> tuple[Written, Written]:
        """(before the run, as the routers were then; since, as they are now) to what it merged and
        to what it made of that."""
        earlier = [one for one in maps.maps if one.run < change.run]
        routers = max(len(change.home), change.routers)
        parts, merged = np.zeros(routers, np.bool_), np.zeros(routers, np.bool_)
        merged[list(numbering.halves)] = True
        for pair in numbering.halves.values():
            parts[list(pair)] = True
        before, since = Written(), Written()
        if numbering.halves:
            async for block in aligned_blocks(self._store, 0, through):
                end = block.block.through
                if end <= change.through:
                    before.add(block, RouterMaps(drop_undone_runs(earlier)).after(end), parts)
                else:
                    since.add(block, maps.after(end), merged)
        return before, since

    async def _texts(self, change: RouterMap) -> list[NewText]:
        """Each changed router says again what it said before; where that is not kept any more, what
        it says now."""
        texts = []
        for router, version in sorted(change.versions.items()):
            said = await self._store.router_version(router, version)
            if said is not None:
                common = {name: 1.0 for name, _ in said.standing}
                attributes = (
                    rank_by_distinctiveness(dict(said.standing), common)[:ATTRIBUTES]
                    if said.standing
                    else []
                )
                texts.append(
                    NewText(
                        router,
                        said.name,
                        said.text,
                        said.standing,
                        tuple(attributes),
                        said.written_by,
                    )
                )
        return texts


def _divided(
    merged: int,
    parts: tuple[int, int],
    before: Written,
    since: Written,
    change: RouterMap,
    users: int,
    items: int,
) -> tuple[Halves, WrittenMass]:
    """Whatever was written before the run is where it was; since then, with each user's earlier
    half, else the larger."""
    amounts = []
    masses: list[NDArray[np.float64]] = []
    for part in parts:
        who, rows, weights = before.of(part)
        amounts.append(summed(who, weights, users))
        masses.append(summed(rows, weights, items))
    in_second, larger = earlier_half(amounts[0], amounts[1])
    who, rows, weights = since.of(merged)
    second = in_second[who]
    masses[0] += summed(rows[~second], weights[~second], items)
    masses[1] += summed(rows[second], weights[second], items)
    shares = [change.start_shares.get(part, 0.5) for part in parts]
    return Halves(
        *parts, in_second, larger, shares[0] / sum(shares) if sum(shares) > 0 else 0.5
    ), WrittenMass(*masses)
