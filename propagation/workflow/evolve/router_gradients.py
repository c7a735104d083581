"""Router gradients, gathered (RecNet 2.4): what readers' choices said of each router since the last
evolution."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from propagation.model.clients.gradient import Gradient, Module
from propagation.model.routers.router_maps import RouterMaps
from propagation.ports.graph.graph_store import GraphStore

PART = 2_000
WINDOW = 20_000
NEWEST = 50


@dataclass
class RouterGradients:
    """Of one router: how often praised and blamed (reward 1, 0), by whom, what each writer chose,
    the newest gradients."""

    praised: int = 0
    blamed: int = 0
    wanted: dict[int, Counter[str]] = field(default_factory=dict)
    newest: list[Gradient] = field(default_factory=list)

    def add(self, gradient: Gradient) -> None:
        if gradient.reward:
            self.praised += 1
        else:
            self.blamed += 1
        self.wanted.setdefault(gradient.writer, Counter()).update(gradient.attributes)
        self.newest.append(gradient)
        if len(self.newest) > 2 * NEWEST:
            del self.newest[:-NEWEST]

    @property
    def all_wanted(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for names in self.wanted.values():
            total.update(names)
        return total


async def load_router_gradients(
    store: GraphStore, maps: RouterMaps, after: int, through: int, era: int
) -> Mapping[int, RouterGradients]:
    """By router of now, gradients with after < sequence <= through, of the last 20,000 sequences at
    most. They follow lineage: what was said of a router that was split since counts for both
    halves. Those of an earlier bootstrap's routers are left out."""
    found: dict[int, RouterGradients] = {}
    now: dict[tuple[int, int], tuple[int, ...]] = {}
    after = max(after, through - WINDOW)
    while after < through:
        part = await store.gradients(Module.ROUTER, None, after, PART)
        whole = len(part) < PART
        last = through if whole or not part else part[-1].sequence - 1
        for gradient in part:
            if gradient.sequence <= min(last, through) and gradient.epoch >= era:
                said_of = (gradient.epoch, gradient.owner)
                if said_of not in now:
                    now[said_of] = maps.since(gradient.epoch).successors_of(gradient.owner)
                for router in now[said_of]:
                    found.setdefault(router, RouterGradients()).add(gradient)
        if last <= after:  # one interaction never has that many gradients
            break
        after = last
    return dict(sorted(found.items()))
