"""Integration in a round: routers' new profiles from arriving attributes.

A router whose summary failed keeps its arrivals for the next round.

Source: RecNet 2.2.2, eq. 3.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from propagation.model import (
    ClientKind,
    ReasonerFailed,
    ReasonerUnavailable,
    Round,
    get_kind,
    split_into_batches,
)
from propagation.ports import AnswerPart, GraphStore, Integration, Reasoner, Summary
from propagation.routing import (
    Arrival,
    ArrivalsByRouter,
    UpdatedRouters,
    build_integration_requests,
    build_next_version,
    name_router_versions,
)
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.views import NumbersOwner

log = logging.getLogger(__name__)


@dataclass
class RouterIntegration:
    """Asks the reasoner for the routers' new profiles.

    It yields to calls between routers.
    """

    store: GraphStore
    reasoner: Reasoner
    vectors: VectorSync
    numbers: NumbersOwner
    min_support: int
    yield_to_calls: Callable[[], Awaitable[None]]

    async def integrate(
        self, round_: Round, epoch: int, groups: ArrivalsByRouter
    ) -> UpdatedRouters:
        """Build the next version of each router that has arrivals.

        A router whose summary failed has no new version; its failure is listed.

        Args:
            epoch: The number of the current epoch.
            groups: The arrivals by router.

        Raises:
            ReasonerUnavailable: The whole round waits.
        """
        routers = sorted({*self.vectors.routers, *groups})
        numbers = await self.store.get_version_numbers(routers)
        before = {
            version.router: version for version in await self.store.get_router_versions(routers)
        }
        titles = await self._load_titles(
            [arrival for group in groups.values() for arrival in group]
        )
        # In a thread: a round may have thousands of arrivals.
        requests = await asyncio.to_thread(build_integration_requests, groups, before, titles)
        updated = UpdatedRouters()
        for request, (summary, author) in zip(
            requests, await self._summarize_routers(requests), strict=True
        ):
            router = request.router
            if isinstance(summary, ReasonerFailed):
                updated.failed[router] = summary.public_reason
                log.warning(
                    "router %d is left out of round %d and will be tried again in the next one: %s",
                    router,
                    round_.number,
                    summary,
                )
                continue
            updated.versions.append(
                build_next_version(
                    request,
                    summary,
                    numbers.get(router, 0) + 1,
                    groups[router],
                    round_.number,
                    epoch,
                    summary.written_by or author,
                )
            )
            await self.yield_to_calls()
        updated.versions[:] = name_router_versions(before.values(), updated.versions)
        return updated

    async def _summarize_routers(
        self, requests: Sequence[Integration]
    ) -> list[tuple[AnswerPart[Summary], str]]:
        """Ask for summaries, some routers at a time.

        Returns:
            For each request in order: a summary with its author, or a failure.
        """
        found: list[tuple[AnswerPart[Summary], str]] = []
        batch = self.reasoner.router_batch_size
        for part in split_into_batches(requests, batch):
            try:
                answer = await self.reasoner.summarize(part)
                found.extend((summary, answer.usage.author) for summary in answer.summaries)
            except ReasonerUnavailable:
                raise
            except ReasonerFailed as error:
                found.extend([(error, "")] * len(part))
            await self.yield_to_calls()
        return found

    async def _load_titles(self, arrivals: Sequence[Arrival]) -> dict[int, str]:
        """Load the titles of items that a message may quote.

        A message with an item that arrives because of events reveals that users chose the item. So
        the item's title is loaded only if at least `min_support` users chose it.
        """
        by_event = {arrival.ref for arrival in arrivals if arrival.sequence > 0}
        items = {arrival.ref for arrival in arrivals if get_kind(arrival.ref) == ClientKind.ITEM}
        unquotable = await self.numbers.find_rarely_chosen(items & by_event, self.min_support)
        return {
            client.ref: client.title
            for client in await self.store.get_clients(sorted(items - unquotable))
            if client.title and not client.hidden
        }
