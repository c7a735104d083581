"""A client's text side: what the reason commit reads and writes."""

from propagation.model.base import value
from propagation.model.clients.filter_memory import FilterMemory
from propagation.model.clients.profile import Profile

NO_RULES = FilterMemory()
MERGED_OUTCOME = "merged"


@value
class ClientText:
    """Profile, filter memory and watermark (the last round whose messages were merged or fell out)
    at one version."""

    profile: Profile
    filter_memory: FilterMemory = NO_RULES
    watermark: int = 0
    dropped: int = 0

    @classmethod
    def empty(cls, ref: int) -> "ClientText":
        """A client that nobody has written of yet."""
        return cls(profile=Profile(ref=ref))


@value
class MessageMerge:
    """One message that reception merged into a profile version, or dropped, and why."""

    ref: int
    profile_version: int
    router: int
    router_version: int
    outcome: str
