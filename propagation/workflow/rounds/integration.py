"""Integration in a round (RecNet 2.2.2, eq. 3): the reasoner summarises what arrived at routers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence, Set

from propagation.model.clients.client import ClientKind, kind_of
from propagation.model.errors import ReasonerFailed, ReasonerUnavailable
from propagation.model.routers.round import Round
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.reasoner import AnswerPart, Integration, Reasoner, Summary
from propagation.routing.integration import integration_requests, next_version
from propagation.routing.policy import ArrivalsByRouter, UpdatedRouters
from propagation.workflow.index.vector_sync import VectorSync

log = logging.getLogger(__name__)


class RouterIntegration:
    """Asks the reasoner for the routers' new profiles; it yields to calls between routers."""

    def __init__(
        self,
        store: GraphStore,
        reasoner: Reasoner,
        vectors: VectorSync,
        yield_to_calls: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._reasoner = reasoner
        self._vectors = vectors
        self._yield_to_calls = yield_to_calls

    async def integrate(
        self, round_: Round, epoch: int, groups: ArrivalsByRouter
    ) -> UpdatedRouters:
        """Write the next version of each router; one whose summary failed is left out.

        Raises:
            ReasonerUnavailable: The whole round waits.
        """
        routers = sorted({*self._vectors.routers, *groups})
        numbers = await self._store.version_numbers(routers)
        before = {version.router: version for version in await self._store.router_versions(routers)}
        titles = await self._titles({arrival.ref for group in groups.values() for arrival in group})
        # In a thread: a round may have thousands of arrivals.
        requests = await asyncio.to_thread(integration_requests, groups, before, titles)
        updated = UpdatedRouters()
        for request, (summary, author) in zip(
            requests, await self._summaries(requests), strict=True
        ):
            router = request.router
            if isinstance(summary, ReasonerFailed):
                updated.failed[router] = str(summary)
                log.warning(
                    "router %d is left out of round %d, and is due in the next one: %s",
                    router,
                    round_.number,
                    summary,
                )
                continue
            number = numbers.get(router, 0) + 1
            updated.versions.append(
                next_version(request, summary, number, groups[router], round_.number, epoch, author)
            )
            await self._yield_to_calls()
        return updated

    async def _summaries(
        self, requests: Sequence[Integration]
    ) -> list[tuple[AnswerPart[Summary], str]]:
        """Ask for summaries, some routers at a time; each comes with its author."""
        found: list[tuple[AnswerPart[Summary], str]] = []
        batch = self._reasoner.router_batch_size
        for start in range(0, len(requests), batch):
            part = requests[start : start + batch]
            try:
                answer = await self._reasoner.summarize(part)
                found.extend((summary, answer.usage.author) for summary in answer.summaries)
            except ReasonerUnavailable:
                raise
            except ReasonerFailed as error:
                found.extend([(error, "")] * len(part))
            await self._yield_to_calls()
        return found

    async def _titles(self, refs: Set[int]) -> dict[int, str]:
        items = sorted(ref for ref in refs if kind_of(ref) == ClientKind.ITEM)
        return {
            client.ref: client.title
            for client in await self._store.get_clients(items)
            if client.title and not client.hidden
        }
