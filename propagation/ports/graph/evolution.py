"""Evolution's commits: a new router set goes live in one publication (RecNet 2.4; DESIGN, step 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from propagation.model.clients.client_text import ClientText
from propagation.model.interactions.learned_block import StagedCheckpoint
from propagation.model.routers.epoch import Epoch
from propagation.model.routers.evolution import EvolutionRun, LineageStep
from propagation.model.routers.round import Round
from propagation.model.routers.router_maps import RouterMap, RouterMaps
from propagation.ports.graph.leases import Lease


@dataclass(frozen=True)
class Publication:
    """All that goes live at once. `run`, `map` and `epoch` carry neither run number nor sequence
    yet. `round_` was begun and holds, staged, the versions of routers that changed and the change
    of the routing table. `start`: the barrier, staged under the learner's lease. `texts`: next
    versions of clients whose filter rules follow the routers."""

    run: EvolutionRun
    map: RouterMap
    epoch: Epoch
    round_: Round
    start: StagedCheckpoint
    texts: Sequence[ClientText] = ()


class EvolutionStore(Protocol):
    async def publish_evolution(
        self, learn: Lease, round_lease: Lease, publication: Publication
    ) -> EvolutionRun:
        """The epoch, its log entry, its barrier, the map, the lineage, the round and the texts in
        one commit; the run with its number, sequence, epoch and time. Claims that are held are
        void: their interactions are free again. Raises LeaseLost, VersionClash (a text has another
        version meanwhile); nothing is changed then."""

    async def save_evolution(self, run: EvolutionRun) -> EvolutionRun:
        """Keep the report of a run that was not published; with its number and time."""

    async def evolution_runs(self, limit: int, before: int | None = None) -> Sequence[EvolutionRun]:
        """At most `limit` runs, newest first; with `before`, those with a smaller number."""

    async def router_maps(self) -> RouterMaps:
        """Of the published runs since the newest bootstrap."""

    async def router_lineage(self) -> Sequence[LineageStep]:
        """Every step of every published run, by run, then before, then after."""

    async def clients_with_rules(self, routers: Sequence[int]) -> Sequence[int]:
        """Refs, ascending, of clients whose current filter memory names one of these routers."""
