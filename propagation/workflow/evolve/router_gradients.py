"""Gradients of routers (RecNet 2.4, eq. 8), as a plan reads them."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from propagation.graph_rules import OwnWords, list_titles
from propagation.model import F64, Gradient, Module, RouterMaps, index_of, is_since_bootstrap
from propagation.optimization.router_split import list_supported_choices
from propagation.ports import GraphStore

PAGE, WINDOW, NEWEST = 2_000, 20_000, 50


@dataclass
class RouterGradients:
    """Gradients of one router.

    Attributes:
        praised: How many have the reward 1.
        blamed: How many have the reward 0.
        choices: How often each writer (ref) chose which attribute.
        newest: The last NEWEST gradients.
    """

    praised: int = 0
    blamed: int = 0
    choices: dict[int, Counter[str]] = field(default_factory=dict)
    newest: deque[Gradient] = field(default_factory=lambda: deque(maxlen=NEWEST))

    def add(self, gradient: Gradient) -> None:
        """Count a gradient."""
        self.praised += bool(gradient.reward)
        self.blamed += not gradient.reward
        self.choices.setdefault(gradient.writer, Counter()).update(gradient.attributes)
        self.newest.append(gradient)


async def load_router_gradients(
    store: GraphStore, maps: RouterMaps, after: int, through: int, era: int
) -> Mapping[int, RouterGradients]:
    """Load gradients with after < sequence <= through, by current router.

    Only the last 20,000 sequences are read. Gradients follow the lineage: one of a router that was
    split since counts for both halves. Gradients of an earlier bootstrap's routers are left out.

    Args:
        era: The epoch of the newest bootstrap.

    Returns:
        Gradients by current router, ascending.
    """
    found: dict[int, RouterGradients] = {}
    current: dict[tuple[int, int], tuple[int, ...]] = {}
    after = max(after, through - WINDOW)
    while after < through:
        page = await store.get_gradients(Module.ROUTER, None, after, PAGE)
        last = through if len(page) < PAGE else page[-1].sequence - 1
        for gradient in page:
            if gradient.sequence <= min(last, through) and is_since_bootstrap(gradient.epoch, era):
                origin = (gradient.epoch, gradient.owner)
                if origin not in current:
                    current[origin] = maps.since(gradient.epoch).get_successors(gradient.owner)
                for router in current[origin]:
                    found.setdefault(router, RouterGradients()).add(gradient)
        after = last  # always moves on: no interaction has a whole page of gradients
    return dict(sorted(found.items()))


async def list_supported_gradients(
    store: GraphStore, found: RouterGradients, adoptions: F64, least: int
) -> list[Gradient]:
    """Return the newest gradients without those that could identify a reader.

    A gradient is left out if it names an attribute that fewer than `least` readers chose, or quotes
    the title of an item that fewer than `least` users chose. The newest comes first.

    Args:
        adoptions: How many users chose each item [I].
    """
    supported = list_supported_choices(found.choices.values(), least)
    newest = [one for one in reversed(found.newest) if supported.keys() >= {*one.attributes}]
    rows = await store.get_interactions(sorted({one.sequence for one in newest}))
    few = {row.item for row in rows if adoptions[index_of(row.item)] < least}
    titles = [*map(OwnWords, list_titles(await store.get_client_contents(sorted(few))).values())]
    return [one for one in newest if not any(title.is_in(one.text) for title in titles)]
