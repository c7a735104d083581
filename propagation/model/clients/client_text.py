"""A client's text, and the messages that changed it.

The text is a profile and a filter memory.
"""

from propagation.model.base import value
from propagation.model.clients.filter_memory import FilterMemory
from propagation.model.clients.profile import Profile

NO_RULES = FilterMemory()
MERGED_OUTCOME = "merged"


@value
class ClientText:
    """Profile and filter memory of a client at one version.

    Attributes:
        watermark: Last round whose messages were merged or fell out of the buffer.
        dropped: How many messages fell out so far.
    """

    profile: Profile
    filter_memory: FilterMemory = NO_RULES
    watermark: int = 0
    dropped: int = 0

    @classmethod
    def empty(cls, ref: int) -> "ClientText":
        """Return the text, at version 0, of a client without one."""
        return cls(profile=Profile(ref=ref))


@value
class MessageMerge:
    """One message that reception merged into a profile version, or dropped.

    Attributes:
        outcome: "merged", or why it was dropped.
    """

    ref: int
    profile_version: int
    router: int
    router_version: int
    outcome: str
