"""The memories of user agents and item agents.

Source:
    AgentCF, section 3.2.1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from propagation.adapters.openai.prompting import drop_none, quote_as_data
from propagation.laboratory.agentcf.prompts.shared import ITEM_MEMORY_CHARS, USER_MEMORY_CHARS
from propagation.model import ClientChange

START = "I enjoy what is offered here."
"""The general preference with which a user agent begins.

The paper's is "I enjoy listening to CDs".
"""
UNKNOWN = "Nothing is known about it."
TITLE_CHARS, HISTORY = 160, 20
"""The published command shows at most 20 items of a history."""


@dataclass
class UserMemory:
    """A user agent's memory.

    Attributes:
        short_term: The recent preference.
        long_term: Earlier short-term memories, the oldest first.
    """

    short_term: str = START
    long_term: list[str] = field(default_factory=list)

    def update(self, text: str) -> None:
        """Replace the short-term memory, and keep it in the long-term one."""
        self.long_term.append(self.short_term)
        self.short_term = text


class Agents:
    """All agents of one run, by the rows of the dataset.

    Attributes:
        users: Their memories; a user without one has not interacted yet.
        items: The memories of items that were updated.
        history: The items of each user, in the order of time.
        identities: What the catalogue says of each item, its first memory.
    """

    def __init__(self, catalogue: Sequence[ClientChange]) -> None:
        self._titles = [
            quote_as_data(item.title, TITLE_CHARS) if item.title else None for item in catalogue
        ]
        self.identities = [write_identity(item) for item in catalogue]
        self.users: dict[int, UserMemory] = {}
        self.items: dict[int, str] = {}
        self.history: dict[int, list[int]] = {}

    def get_user(self, user: int) -> UserMemory:
        """Return a user's memory, which begins with a general preference."""
        return self.users.setdefault(user, UserMemory())

    def show_user(self, user: int) -> dict[str, Any]:
        """Show a user's short-term memory in a prompt."""
        text = self.get_user(user).short_term
        return {"self_introduction": quote_as_data(text, USER_MEMORY_CHARS)}

    def show_history(self, user: int) -> list[Mapping[str, Any]]:
        """Show the last items of a user, with their memories."""
        return [self.show_item(item) for item in self.history.get(user, [])[-HISTORY:]]

    def show_item(self, item: int, memory: str | None = None) -> dict[str, Any]:
        """Show an item's title and memory in a prompt.

        Args:
            memory: Shown in place of its own; an item that was never updated has its identity.
        """
        text = memory or self.items.get(item, self.identities[item])
        return drop_none(
            title=self._titles[item], description=quote_as_data(text, ITEM_MEMORY_CHARS)
        )


def write_identity(item: ClientChange) -> str:
    """Write an item's first memory: its categories, attributes and description.

    The title is always shown beside it. Ids never are: in some catalogues they are in the order of
    time.
    """
    names = dict.fromkeys((*(item.categories or ()), *(item.attributes or ())))
    parts = (
        f"It is listed under {', '.join(names)}." if names else "",
        item.description or "",
    )
    return " ".join(part for part in parts if part) or UNKNOWN
