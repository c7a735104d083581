"""Ways of propagation from client to client: to whom, and what.

Source:
    RecNet 3.4.4, Table 4: EM, EM+LR, EM+LR+LS.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from propagation.ports import Party

RECEIVERS, RETRIEVED = 3, 10
"""k and p. The paper gives neither; nothing else was tried."""


class Content(StrEnum):
    """What a changed client sends.

    Attributes:
        PROFILE: Its whole profile.
        SUMMARY: One text, written for all receivers together (LS).
        SUMMARY_EACH: A text for each receiver.
    """

    PROFILE = "profile"
    SUMMARY = "summary"
    SUMMARY_EACH = "summary for each"


@dataclass(frozen=True)
class Way:
    """How clients whose profile changed send to others.

    Attributes:
        selects: The reasoner selects the receivers among the nearest (LR); else these are the
            nearest themselves (EM).
        receivers: k, how many clients hear of a change.
        retrieved: p, among how many the reasoner selects.
    """

    selects: bool = False
    content: Content = Content.PROFILE
    receivers: int = RECEIVERS
    retrieved: int = RETRIEVED

    @property
    def nearest(self) -> int:
        """How many of the nearest clients are retrieved."""
        return self.retrieved if self.selects else self.receivers


class LinkReasoner(Protocol):
    """Answers the two questions that the service's reasoner does not know.

    Both methods raise ReasonerFailed without a usable answer, and ReasonerUnavailable or
    MethodFailed if no model answers now.
    """

    async def select(self, sender: Party, nearest: Sequence[Party], count: int) -> Sequence[int]:
        """Select who hears of a change (LR).

        Args:
            sender: The changed client.
            nearest: The nearest first; more than `count`.

        Returns:
            `count` different places in `nearest`, from 0.
        """

    async def summarize(self, sender: Party, receivers: Sequence[Party]) -> str:
        """Write what the receivers hear of a changed profile (LS).

        Returns:
            At most 60 words.
        """
