"""What adoption routing reads of the numbers: the live view, and what interactions wrote."""

from collections.abc import Sequence

from propagation.ports.learn import LearnStore
from propagation.routing.adoption import Weights
from propagation.routing.policy import Arrival
from propagation.workflow.numbers import Numbers


class LiveTaste:
    """See routing/adoption.py, TasteReading."""

    def __init__(self, numbers: Numbers, store: LearnStore) -> None:
        self._numbers = numbers
        self._store = store

    async def of_clients(self, refs: Sequence[int], count: int) -> Sequence[Weights]:
        return await self._numbers.taste_weights(refs, count) if refs else []

    async def of_arrivals(self, arrivals: Sequence[Arrival]) -> Sequence[Weights]:
        written = await self._store.taste_written([arrival.sequence for arrival in arrivals if arrival.sequence])
        return [written.get(arrival.sequence, ()) for arrival in arrivals]
