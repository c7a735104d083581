"""Time travel: profiles and routers as they were at a sequence.

Source: docs/design.md, Guarantees.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from propagation.model import (
    ClientText,
    LineageStep,
    RouterVersion,
    RoutingEdge,
    TooNew,
    TooOld,
)
from propagation.ports import GraphStore
from propagation.reception.message_buffer import ProfileReading
from propagation.workflow.data_settings import DataSettings, build_data_settings_blob
from propagation.workflow.views import load_client


@dataclass(frozen=True)
class PastRouter:
    """A taste router as it was.

    Attributes:
        text: Its newest version then; None if it had sent nothing yet.
        members: How many clients belonged to it.
        retired: An evolution had taken its number out of use.
    """

    number: int
    epoch: int
    text: RouterVersion | None
    members: int
    retired: bool


@dataclass
class TimeTravel:
    """The past of a graph, from the oldest kept sequence on."""

    store: GraphStore

    async def check_sequence(self, sequence: int) -> int:
        """Return a sequence if it can be shown.

        Raises:
            TooNew: The sequence was not recorded yet.
            TooOld: Retention dropped some of its rows.
        """
        newest = await self.store.get_recorded_through()
        if sequence > newest:
            raise TooNew(str(sequence), newest)
        await self.check_kept(sequence)
        return sequence

    async def get_sequence_at_time(self, time_ms: int, now_ms: int) -> int:
        """Return the last sequence committed at or before a time.

        Args:
            time_ms: Milliseconds since 1970.
            now_ms: The current time.

        Returns:
            The sequence; 0 if the time is before the first commit.

        Raises:
            TooNew: The time is in the future.
            TooOld: Retention dropped some rows of the sequence.
        """
        if time_ms > now_ms:
            asked = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat()
            raise TooNew(asked, await self.store.get_recorded_through())
        sequence = await self.store.get_sequence_at(time_ms)
        await self.check_kept(sequence)
        return sequence

    async def check_kept(self, sequence: int) -> None:
        """Check that retention still keeps a sequence.

        Called again after reading, because retention may have dropped rows meanwhile.

        Raises:
            TooOld: Retention dropped some of its rows.
        """
        oldest = await self.store.get_oldest_kept()
        if sequence < oldest:
            raise TooOld(sequence, oldest)

    async def get_profile(self, ref: int, sequence: int) -> ProfileReading:
        """Return a client's profile at a sequence.

        Returns:
            The client with its text, which is empty before its first version.

        Raises:
            NotFound: The client was erased since its ref was found.
            TooOld: Retention dropped something meanwhile.
        """
        client = await load_client(self.store, ref, sequence)
        text = await self.store.get_text_at(ref, sequence) or ClientText.empty(ref)
        bootstrap = await self.store.get_bootstrap_sequence(sequence)
        await self.check_kept(sequence)
        return ProfileReading(client, text.with_rules_since(bootstrap))

    async def get_routers(self, sequence: int) -> Sequence[PastRouter]:
        """Return the taste routers of the epoch at a sequence, by number.

        Raises:
            TooOld: Retention dropped something meanwhile.
        """
        opened = [epoch for epoch in await self.store.get_epochs() if epoch.sequence <= sequence]
        epoch = opened[-1].number if opened else 0
        numbers = range(opened[-1].taste_k if opened else await self._get_first_taste_k())
        maps = (await self.store.get_router_maps()).maps
        retired = {router for one in maps if one.to_epoch == epoch for router in one.retired}
        versions = await self.store.get_router_versions(numbers, sequence)
        texts = {version.router: version for version in versions}
        members = await self.store.count_members(numbers, sequence)
        await self.check_kept(sequence)
        return [
            PastRouter(
                number=router,
                epoch=epoch,
                text=texts.get(router),
                members=members.get(router, 0),
                retired=router in retired,
            )
            for router in numbers
        ]

    async def get_lineage(self, router: int, epoch: int) -> Sequence[LineageStep]:
        """Return the steps that made and changed a router.

        They begin at the newest bootstrap, and end with the step into `epoch`.
        """
        maps = (await self.store.get_router_maps()).maps
        runs = {one.run for one in maps if one.to_epoch <= epoch}
        return [
            step
            for step in await self.store.get_router_lineage()
            if step.run in runs and router in (step.before, step.after)
        ]

    async def get_members(self, router: int, sequence: int, limit: int) -> Sequence[RoutingEdge]:
        """Return a router's edges at a sequence, by descending score, then ref.

        Raises:
            TooOld: Retention dropped something meanwhile.
        """
        edges = await self.store.get_members(router, limit, sequence)
        await self.check_kept(sequence)
        return edges

    async def _get_first_taste_k(self) -> int:
        """Return how many taste routers there were before the first epoch."""
        blob = await self.store.get_blob(build_data_settings_blob(0))
        return 0 if blob is None else DataSettings.model_validate_json(blob).taste_k
