"""The filter memory at work: it refuses and orders messages.

Source: RecNet 2.3.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from propagation.model import DROP_BELOW, FilterMemory, RouterVersion


@dataclass(frozen=True, slots=True)
class FilteredMessages:
    """Messages that the filter rules admit, and those that they refuse.

    The admitted messages of largest factor come first.
    """

    admitted: Sequence[RouterVersion] = ()
    refused: Sequence[RouterVersion] = ()


def filter_messages(memory: FilterMemory, messages: Sequence[RouterVersion]) -> FilteredMessages:
    """Refuse messages of a factor below DROP_BELOW, and order the others.

    The others are ordered by descending factor.

    Messages of one factor keep their order: newest first.
    """
    factors = [memory.factor_for(message.router, message.attributes) for message in messages]
    order = sorted(range(len(messages)), key=lambda place: -factors[place])
    return FilteredMessages(
        [messages[place] for place in order if factors[place] >= DROP_BELOW],
        [messages[place] for place in order if factors[place] < DROP_BELOW],
    )
