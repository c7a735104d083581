"""A reasoner whose routers' texts another one may write.

Router texts are most of what a round asks. If a small model cannot write them, it is not asked for
them again and again while interactions wait, and messages travel all the same.
"""

from collections.abc import Sequence
from dataclasses import replace

from propagation.adapters.fallback.reasoner_pair import ReasonerPair
from propagation.model import ReasonerFailed
from propagation.ports import Integration, Reasoner, SummarizeAnswer

ASKED_AGAIN_EVERY = 4
"""Of a router whose newest text is the other one's, every such version is asked for again."""


class DelegatedRouterTexts(ReasonerPair):
    """Asks `first` for routers' texts (eq. 3), and `other` for missing ones.

    Each text of `other` is marked in `written_by`, as `summarize:NAME`. Its router is left to
    `other` until a version whose number is a multiple of ASKED_AGAIN_EVERY. That rests on what is
    stored alone, so replays and restarts agree.

    Args:
        asks_first: Whether `first` is asked for routers' texts at all.
    """

    def __init__(self, first: Reasoner, other: Reasoner, *, asks_first: bool) -> None:
        super().__init__(first, other)
        self._asks_first = asks_first
        self._mark = f"summarize:{other.name}"
        if not asks_first:
            self.router_batch_size = other.router_batch_size
            self.router_writer = other.name

    async def summarize(self, routers: Sequence[Integration]) -> SummarizeAnswer:
        asked = [one for one in routers if self._is_asked(one)]
        answer = await self._first.summarize(asked) if asked else SummarizeAnswer(())
        usable = {
            one.router: summary
            for one, summary in zip(asked, answer.summaries, strict=True)
            if not isinstance(summary, ReasonerFailed)
        }
        left = [one for one in routers if one.router not in usable]
        instead = await self._other.summarize(left)
        written = {
            one.router: summary
            if isinstance(summary, ReasonerFailed)
            else replace(summary, written_by=self._mark)
            for one, summary in zip(left, instead.summaries, strict=True)
        }
        return SummarizeAnswer(
            [usable.get(one.router) or written[one.router] for one in routers], answer.usage
        )

    def _is_asked(self, router: Integration) -> bool:
        """Tell whether `first` is asked for the next text of a router."""
        if not self._asks_first:
            return False
        before = router.before
        if before is None or before.written_by != self._mark:
            return True
        return (before.version + 1) % ASKED_AGAIN_EVERY == 0
