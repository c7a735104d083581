"""Selection and summaries without a language model, from structure.

Source:
    RecNet 3.4.4 (LR and LS); the rules are this project's.
"""

from collections.abc import Sequence

from propagation.laboratory.methods.recnet.point_to_point.message import list_newest_first
from propagation.ports import Party

SUMMARY_LINES = 2


class OfflineAnswers:
    """Selects by shared attributes, and sends the newest lines."""

    async def select(self, sender: Party, nearest: Sequence[Party], count: int) -> Sequence[int]:
        """Select who shares most attributes; among equals, the nearer one."""
        attributes = sender.profile.attributes
        return sorted(
            range(len(nearest)),
            key=lambda place: (-len(attributes & nearest[place].profile.attributes), place),
        )[:count]

    async def summarize(self, sender: Party, receivers: Sequence[Party]) -> str:
        """Return the newest line and the next one, whoever hears them."""
        lines = list_newest_first(sender.profile)[:SUMMARY_LINES]
        return " ".join(line.text for line in lines)
