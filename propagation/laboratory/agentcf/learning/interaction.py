"""One interaction: choose, reflect, and choose again until it is right.

Source:
    AgentCF, sections 3.2.2 and 3.2.3; `calculate_loss` of the published code.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from propagation.laboratory.agentcf.asked import Asked
from propagation.laboratory.agentcf.memory import Agents
from propagation.laboratory.agentcf.prompts import choose, reflect
from propagation.laboratory.agentcf.prompts.reflect import Feedback
from propagation.laboratory.agentcf.variant import Variant


class Pair(NamedTuple):
    """A user's real interaction, with a negative item; rows of the dataset."""

    user: int
    positive: int
    negative: int


@dataclass
class Choices:
    """What a user agent chose in one interaction.

    Attributes:
        right: Whether each choice was the real one; None: no usable answer. Empty if the agents do
            not interact.
        tested: Whether a further choice, after all that the interaction taught, was the real one;
            None: no usable answer, or not asked.
    """

    right: list[bool | None] = field(default_factory=list)
    tested: bool | None = None


@dataclass(frozen=True)
class Interaction:
    """Runs interactions on the memories of agents.

    Attributes:
        tests: Whether the user chooses once more at the end, which teaches nothing.
    """

    variant: Variant
    agents: Agents
    asked: Asked
    tests: bool = False

    async def run(self, pair: Pair) -> Choices:
        """Run one interaction, which changes its user and its positive item.

        A wrong choice is followed by a reflection of both, and by another choice, up to `rounds`. A
        choice that is right at once confirms both; after a reflection it confirms the item only.
        An unusable choice ends the interaction, and an unusable reflection changes nothing.
        """
        done = Choices()
        if not self.variant.interacts:
            await self._reflect(Feedback.RECORD, pair, None)
        while self.variant.interacts and len(done.right) < self.variant.rounds:
            chosen = await self._choose(pair)
            done.right.append(None if chosen is None else not chosen.first)
            if chosen is None:
                break
            if chosen.first:
                await self._reflect(Feedback.WRONG, pair, chosen.explanation)
                continue
            await self._reflect(
                Feedback.RIGHT, pair, chosen.explanation, item_only=len(done.right) > 1
            )
            break
        if self.tests:
            tested = await self._choose(pair)
            done.tested = None if tested is None else not tested.first
        self.agents.history.setdefault(pair.user, []).append(pair.positive)
        return done

    async def _choose(self, pair: Pair) -> choose.Chosen | None:
        """Let the user agent choose; the popular negative is shown first."""
        question = choose.build_question(
            self._show_user(pair.user),
            self.agents.show_item(pair.negative),
            self.agents.show_item(pair.positive),
        )
        chosen: choose.Chosen | None = await self.asked.get(question)
        return chosen

    async def _reflect(
        self, feedback: Feedback, pair: Pair, explanation: str | None, *, item_only: bool = False
    ) -> None:
        """Update the user's memory, and then the positive item's by it."""
        liked = self.agents.show_item(pair.positive)
        rejected = self.agents.show_item(pair.negative)
        if self.variant.user_agents and not item_only:
            text = await self.asked.get(
                reflect.build_user_question(
                    feedback, self._show_user(pair.user), liked, rejected, explanation
                )
            )
            if text is not None:
                self.agents.get_user(pair.user).update(text)
        if self.variant.item_agents:
            text = await self.asked.get(
                reflect.build_item_question(
                    feedback, self._show_user(pair.user), liked, rejected, explanation
                )
            )
            if text is not None:
                self.agents.items[pair.positive] = text

    def _show_user(self, user: int) -> Mapping[str, Any]:
        if self.variant.user_agents:
            return self.agents.show_user(user)
        return {"history": self.agents.show_history(user)}
