"""Time travel: which sequences can be asked for, and what routers and their tables were then
(DESIGN, "Guarantees")."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime

from propagation.model.errors import TooNew, TooOld
from propagation.model.routers.router import RouterVersion, RoutingEdge
from propagation.ports.graph.graph_store import GraphStore
from propagation.workflow.data_settings import DataSettings, data_settings_blob


@dataclass(frozen=True)
class PastRouter:
    """A taste router as it was: its newest version then (None: it had sent nothing yet) and how
    many belonged to it. `retired`: evolution had taken its number out of use."""

    number: int
    epoch: int
    text: RouterVersion | None
    members: int
    retired: bool


class TimeTravel:
    """The past of one graph, between what retention keeps and the newest sequence."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    async def check_sequence(self, sequence: int) -> int:
        """The sequence itself. Raises TooNew, TooOld."""
        newest = await self._store.recorded_through()
        if sequence > newest:
            raise TooNew(str(sequence), newest)
        await self.check_kept(sequence)
        return sequence

    async def sequence_at_time(self, time_ms: int, now_ms: int) -> int:
        """The last sequence committed at or before a time (milliseconds since 1970); 0 before the
        first. Raises TooNew where the time is still to come, TooOld."""
        if time_ms > now_ms:
            asked = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat()
            raise TooNew(asked, await self._store.recorded_through())
        sequence = await self._store.sequence_at(time_ms)
        await self.check_kept(sequence)
        return sequence

    async def check_kept(self, sequence: int) -> None:
        """Raises TooOld. Asked again after reading, it says whether retention has dropped something
        meanwhile."""
        oldest = await self._store.oldest_kept()
        if sequence < oldest:
            raise TooOld(sequence, oldest)

    async def routers(self, sequence: int) -> Sequence[PastRouter]:
        """The taste routers of the epoch that was open at a sequence, by number. Raises TooOld
        where retention dropped something meanwhile."""
        number, numbers, retired = await self._router_set(sequence)
        texts = {
            version.router: version
            for version in await self._store.router_versions(numbers, sequence)
        }
        members = await self._store.count_members(numbers, sequence)
        await self.check_kept(sequence)
        return [
            PastRouter(router, number, texts.get(router), members.get(router, 0), router in retired)
            for router in numbers
        ]

    async def members(self, router: int, sequence: int, limit: int) -> Sequence[RoutingEdge]:
        """A router's rows of the routing table as they stood at a sequence, by descending score,
        then ref. Raises TooOld as above."""
        edges = await self._store.members_of(router, limit, sequence)
        await self.check_kept(sequence)
        return edges

    async def _router_set(self, sequence: int) -> tuple[int, Sequence[int], Set[int]]:
        """(epoch, its router numbers, those of them that are retired) at a sequence."""
        open_then = [epoch for epoch in await self._store.epochs() if epoch.sequence <= sequence]
        if not open_then:
            blob = await self._store.get_blob(data_settings_blob(0))
            return (
                0,
                range(DataSettings.of_blob(blob).taste_k) if blob is not None else (),
                frozenset(),
            )
        epoch = open_then[-1]
        maps = (await self._store.router_maps()).maps
        retired = {router for one in maps if one.to_epoch == epoch.number for router in one.retired}
        return epoch.number, range(epoch.taste_k), retired
