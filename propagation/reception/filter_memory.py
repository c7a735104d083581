"""The filter memory at work (RecNet 2.3.2): which messages come through, and in which order."""

from collections.abc import Sequence

from propagation.model.clients.filter_memory import DROP_BELOW, FilterMemory
from propagation.model.routers.router import RouterVersion


def admitted(
    memory: FilterMemory, messages: Sequence[RouterVersion]
) -> tuple[list[RouterVersion], list[RouterVersion]]:
    """(let in, kept out): those of a factor below .5 stay out; the others by descending factor,
    then newest first."""
    factors = [memory.factor_for(message.router, message.attributes) for message in messages]
    order = sorted(range(len(messages)), key=lambda place: -factors[place])
    let_in = [messages[place] for place in order if factors[place] >= DROP_BELOW]
    return let_in, [messages[place] for place in order if factors[place] < DROP_BELOW]
