"""Events into one record commit, and what became of each."""

import asyncio
from collections.abc import Sequence

from propagation.model.errors import InvalidInput
from propagation.model.interactions.interaction import NewInteraction
from propagation.v1 import propagation_pb2 as pb
from services.grpc.convert.outcomes import fill, reject
from services.grpc.handlers.servicer import Servicer
from services.grpc.requests.validation import checked_interaction
from services.runtime.process import SystemClock

CHECKED_AT_ONCE = 500


class Recording(Servicer):
    """What the batch and the stream share."""

    async def _record(self, events: Sequence[pb.Interaction]) -> list[pb.InteractionOutcome]:
        """One outcome an event, in order, after the commit; a bad event is rejected and the others
        are recorded."""
        outcomes, places, good = await self._checked(events)
        if good:
            with self._worker.recording():
                recorded = await self._engine.record(good)
            for place, outcome in zip(places, recorded.outcomes, strict=True):
                fill(outcomes[place], outcome)
        return outcomes

    async def _checked(
        self, events: Sequence[pb.Interaction]
    ) -> tuple[list[pb.InteractionOutcome], list[int], list[NewInteraction]]:
        """(an outcome an event, those of bad ones complete; the places of good events; the good
        events). Other calls have their turn in a long one."""
        now = SystemClock().now_ms()
        outcomes: list[pb.InteractionOutcome] = []
        places: list[int] = []
        good: list[NewInteraction] = []
        for place, event in enumerate(events):
            if place and place % CHECKED_AT_ONCE == 0:
                await asyncio.sleep(0)
            outcome = pb.InteractionOutcome(event_id=event.event_id)
            outcomes.append(outcome)
            try:
                good.append(checked_interaction(event, now))
                places.append(place)
            except InvalidInput as error:
                reject(outcome, error.field, "INVALID", error.problem)
        return outcomes, places, good
