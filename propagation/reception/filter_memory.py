"""Use of the filter memory: it refuses and orders messages.

model/clients/filter_memory.py has the memory and its rules.

Source: RecNet 2.3.2.
"""

from collections.abc import Sequence

from propagation.model import DROP_BELOW, FilterMemory, RouterVersion


def filter_messages(
    memory: FilterMemory, messages: Sequence[RouterVersion]
) -> tuple[Sequence[RouterVersion], Sequence[RouterVersion]]:
    """Refuse messages of a factor below DROP_BELOW, and order the others.

    Messages of one factor keep their order: newest first.

    Returns:
        The admitted messages, the largest factor first; and the refused ones.
    """
    factors = [memory.get_factor(message.router, message.attributes) for message in messages]
    order = sorted(range(len(messages)), key=lambda place: -factors[place])
    return (
        [messages[place] for place in order if factors[place] >= DROP_BELOW],
        [messages[place] for place in order if factors[place] < DROP_BELOW],
    )
