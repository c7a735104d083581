"""The variants of AgentCF: how it ranks, and what is left out."""

from dataclasses import dataclass
from enum import StrEnum

ROUNDS = 2
"""`all_update_rounds` of the published code."""


class Prompting(StrEnum):
    """What a ranking shows of the user besides the short-term memory.

    Source:
        AgentCF, section 3.3 (agent interaction inference).
    """

    BASIC = "B"
    RETRIEVAL = "B+R"
    HISTORY = "B+H"


@dataclass(frozen=True)
class Variant:
    """One row of AgentCF's tables.

    Attributes:
        rounds: The most choices in one interaction. Each wrong one is followed by a reflection.
        interacts: Whether the agents choose before they reflect; else they are given the record.
        user_agents: Whether users have memories; else their history stands for them.
        item_agents: Whether memories of items are updated; else an item is its catalogue text.
    """

    prompting: Prompting = Prompting.BASIC
    rounds: int = ROUNDS
    interacts: bool = True
    user_agents: bool = True
    item_agents: bool = True
