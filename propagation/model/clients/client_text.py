"""A client's text side: what the reason commit reads and writes."""

from propagation.model.clients.filter_memory import FilterMemory
from propagation.model.clients.gradient import Gradient
from propagation.model.clients.profile import Profile
from propagation.model.fast_dataclass import value
from propagation.model.usage import NO_USAGE, Usage

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


@value
class ReasonedInteraction:
    """All text of one interaction: stage 1 of Algorithm 1, as it is committed. `reward` is None
    where there was no negative to predict against; `failure` is set instead of texts for a dead
    letter. `late` is set where a dead letter was replayed: the sequence that was recorded through
    then, to which its texts belong. `usage` is what reasoning it cost."""

    sequence: int
    user: int
    reward: int | None = None
    texts: tuple[ClientText, ...] = ()
    gradients: tuple[Gradient, ...] = ()
    merged: tuple[MessageMerge, ...] = ()
    failure: str | None = None
    late: int | None = None
    usage: Usage = NO_USAGE

    @property
    def written_at(self) -> int:
        """The sequence its texts are versions of."""
        return self.sequence if self.late is None else self.late


@value
class ReasonWork:
    """An interaction that waits for reason, with what learn stored of it (scores from before its
    updates)."""

    sequence: int
    user: int
    item: int
    negative: int | None
    weight: float
    score_positive: float | None
    score_negative: float | None


@value
class ReasonClaim:
    """Work one worker holds until `expires` (milliseconds); the token fences a worker that comes
    back late."""

    token: int
    worker: str
    expires: int
    work: tuple[ReasonWork, ...]
