"""The filter memory at work (RecNet 2.3.2): which messages a client merges, and in which order."""

from collections.abc import Sequence
from dataclasses import dataclass

from propagation.model import DROP_BELOW, FilterMemory, RouterVersion


@dataclass(frozen=True, slots=True)
class FilteredMessages:
    """The messages that the rules let through, those of largest factor first, and the others."""

    admitted: Sequence[RouterVersion] = ()
    refused: Sequence[RouterVersion] = ()


def filter_messages(memory: FilterMemory, messages: Sequence[RouterVersion]) -> FilteredMessages:
    """Refuse messages of a factor below DROP_BELOW; order the others by descending factor.

    Messages of one factor keep their order: newest first.
    """
    factors = [memory.factor_for(message.router, message.attributes) for message in messages]
    order = sorted(range(len(messages)), key=lambda place: -factors[place])
    return FilteredMessages(
        [messages[place] for place in order if factors[place] >= DROP_BELOW],
        [messages[place] for place in order if factors[place] < DROP_BELOW],
    )
