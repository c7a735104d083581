"""Optimizes the agents on a history, in the order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from propagation.laboratory.agentcf.asked import Asked
from propagation.laboratory.agentcf.learning.interaction import Choices, Interaction, Pair
from propagation.laboratory.agentcf.learning.negatives import NONE
from propagation.laboratory.agentcf.learning.schedule import Step, run_in_order
from propagation.laboratory.agentcf.memory import HISTORY, Agents
from propagation.laboratory.agentcf.variant import Variant


@dataclass(frozen=True)
class Simulation:
    """Runs interactions, side by side where no agent is shared.

    Attributes:
        tests: Whether users choose once more at the end of each interaction.
    """

    variant: Variant
    agents: Agents
    asked: Asked
    tests: bool = False

    async def run(self, pairs: Sequence[Pair]) -> list[Choices | None]:
        """Run interactions; the result is that of one after the other.

        Returns:
            The choices of each; None for a pair without a negative item, which is left out.
        """
        done: list[Choices | None] = [None] * len(pairs)
        interaction = Interaction(self.variant, self.agents, self.asked, self.tests)

        async def run(place: int, pair: Pair) -> None:
            done[place] = await interaction.run(pair)

        shown = self._list_shown_histories(pairs)
        await run_in_order(
            [
                Step(
                    partial(run, place, pair),
                    changes=[("user", pair.user), ("item", pair.positive)],
                    reads=[("item", pair.negative), *(("item", item) for item in shown[place])],
                )
                for place, pair in enumerate(pairs)
                if pair.negative != NONE
            ]
        )
        return done

    def _list_shown_histories(self, pairs: Sequence[Pair]) -> list[list[int]]:
        """Return the items that each interaction shows as a history."""
        if self.variant.user_agents:
            return [[] for _ in pairs]
        taken = {user: list(items) for user, items in self.agents.history.items()}
        out = []
        for pair in pairs:
            items = taken.setdefault(pair.user, [])
            out.append(items[-HISTORY:])
            if pair.negative != NONE:
                items.append(pair.positive)
        return out
