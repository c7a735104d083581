"""Batches of reads.

Requests that wait are answered together, in one pass over the catalogue.
"""

from collections.abc import Sequence

from propagation.call_batcher import CallBatcher
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
        self._calls = CallBatcher(self._answer, lambda request: 1, BATCH)

    async def read(self, request: ReadRequest) -> ReadResult:
        """Answer one request, together with others that wait."""
        if not self._calls.busy and self._is_brief(request):
            with self._numbers.try_borrow() as view:
                if view is not None:
                    return self._scorer.read(view, [request])[0]
        return await self._calls.submit(request)

    def _is_brief(self, request: ReadRequest) -> bool:
        if request.explain:
            return False
        if request.candidates is not None:
            return EXACT_SCORE_ITEMS * len(request.candidates) <= HAND_OVER_ITEMS
        view = self._numbers.view
        exact = self._scorer.exact_items(view, request.limit)
        return view.items + EXACT_SCORE_ITEMS * exact <= HAND_OVER_ITEMS

    async def _answer(self, requests: Sequence[ReadRequest]) -> Sequence[ReadResult]:
        return await self._numbers.run(self._scorer.read, requests)
