"""Batches of reads.

Requests that wait are answered together, in one pass over the catalogue.
"""

import asyncio

from propagation.workflow.read.scoring import CatalogueScorer, ReadRequest, ReadResult
from propagation.workflow.views import NumbersOwner

BATCH = 8
# In items looked at: the cost of handing a read to the numbers' thread, and of one exact score.
HAND_OVER_ITEMS, EXACT_SCORE_ITEMS = 4_000, 16


class ReadBatcher:
    """Answers reads on the numbers' thread, up to eight in one pass.

    A read that costs less than handing it over is answered at once, if no one has the view.
    """

    def __init__(self, numbers: NumbersOwner) -> None:
        self._numbers = numbers
        self._scorer = CatalogueScorer(numbers.cores)
        self._pending: list[tuple[ReadRequest, asyncio.Future[ReadResult]]] = []
        self._answering: asyncio.Task[None] | None = None

    async def read(self, request: ReadRequest) -> ReadResult:
        """Answer one request, together with others that wait."""
        is_idle = self._answering is None or self._answering.done()
        if is_idle and self._is_brief(request):
            with self._numbers.try_borrow() as view:
                if view is not None:
                    return self._scorer.read(view, [request])[0]
        result: asyncio.Future[ReadResult] = asyncio.get_running_loop().create_future()
        self._pending.append((request, result))
        if is_idle:
            self._answering = asyncio.create_task(self._answer_pending())
        return await result

    def _is_brief(self, request: ReadRequest) -> bool:
        if request.explain:
            return False
        if request.candidates is not None:
            return EXACT_SCORE_ITEMS * len(request.candidates) <= HAND_OVER_ITEMS
        view = self._numbers.view
        exact = self._scorer.exact_items(view, request.limit)
        return view.items + EXACT_SCORE_ITEMS * exact <= HAND_OVER_ITEMS

    async def _answer_pending(self) -> None:
        while self._pending:
            batch, self._pending = self._pending[:BATCH], self._pending[BATCH:]
            try:
                results = await self._numbers.run(
                    self._scorer.read, [request for request, _ in batch]
                )
            except Exception as error:  # each caller raises it
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)
