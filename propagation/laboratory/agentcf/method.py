"""AgentCF as a method of the laboratory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64, I64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.agentcf.asked import Asked
from propagation.laboratory.agentcf.estimate import (
    estimate_learning,
    estimate_ranking,
    estimate_tests,
)
from propagation.laboratory.agentcf.inference import Inference
from propagation.laboratory.agentcf.learning.interaction import Pair
from propagation.laboratory.agentcf.learning.negatives import draw_negatives
from propagation.laboratory.agentcf.learning.simulation import Simulation
from propagation.laboratory.agentcf.memory import Agents
from propagation.laboratory.agentcf.prompts.catalogue import list_prompts
from propagation.laboratory.agentcf.variant import Prompting, Variant
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.asking import Ask, Calls
from propagation.laboratory.methods.dependencies import digest
from propagation.laboratory.methods.method import Dependencies, MethodFailed
from propagation.laboratory.methods.two_way import StepChoices
from propagation.ports import Embedder

REVISION = 2
"""Raise it when a change of this folder's code changes results: those of before are stale then.

Changed prompts need no raise: `depends_on` has their digest.
"""
VARIANTS: Mapping[str, Variant] = {
    "agentcf": Variant(),
    "agentcf-r": Variant(Prompting.RETRIEVAL),
    "agentcf-h": Variant(Prompting.HISTORY),
    "agentcf-no-interaction": Variant(interacts=False),
    "agentcf-no-users": Variant(user_agents=False),
    "agentcf-no-items": Variant(item_agents=False),
}


def list_variants() -> Mapping[str, Variant]:
    """Return the paper's variants by the names of their methods."""
    return VARIANTS


@dataclass(frozen=True)
class AgentCF:
    """Optimizes agents on the history, and ranks by them.

    Attributes:
        dataset: The dataset that the rows belong to.
        model: The name of the language model.
        embedder: For the retrieval of long-term memory.
    """

    name: str
    variant: Variant
    dataset: Dataset
    ask: Ask
    model: str
    embedder: Embedder

    @property
    def depends_on(self) -> Dependencies:
        return {
            "model": self.model,
            "revision": str(REVISION),
            "prompts": digest(str(list_prompts())),
            "variant": str(self.variant),
            "embedder": self.embedder.name,
        }

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        agents, asked = await self.optimize(history, seed)
        return await Inference(self.variant, agents, asked, self.embedder).score(questions)

    async def optimize(self, history: History, seed: int) -> tuple[Agents, Asked]:
        """Let new agents make all interactions of a history.

        Raises:
            MethodFailed: No item has a text, or the model cannot be used.
        """
        agents, asked = self.create_agents(), Asked(self.ask)
        await Simulation(self.variant, agents, asked).run(list_pairs(history, seed))
        return agents, asked

    async def choose_steps(self, history: History, steps: int, seed: int) -> StepChoices:
        """Let each user agent make its last interactions; see `TwoWayMethod`.

        Raises:
            MethodFailed: The variant makes no choices, or no item has a text.
        """
        if not self.variant.interacts:
            raise MethodFailed(f"{self.name}: its agents do not choose; leave it out of --methods")
        places, step = find_last_steps(history, steps)
        pairs = list_pairs(history, seed)
        simulation = Simulation(self.variant, self.create_agents(), Asked(self.ask), tests=True)
        done = await simulation.run([pairs[place] for place in places.tolist()])
        before, after, invalid = (np.full((history.users, steps), np.nan) for _ in range(3))
        for place, number, choices in zip(places.tolist(), step.tolist(), done, strict=True):
            if choices is not None:
                at = history.user[place], number
                before[at], after[at] = choices.right[0] is True, choices.tested is True
                invalid[at] = None in (*choices.right, choices.tested)
        return StepChoices(before, after, invalid)

    def estimate(self, history: History, questions: Questions) -> Sequence[Calls]:
        """Estimate what `score` asks of a model that is always wrong."""
        each = len(history.user) / max(history.users, 1)
        return [
            *estimate_learning(self.variant, len(history.user), each),
            *estimate_ranking(
                self.variant, len(questions.user), questions.candidates.shape[1], each
            ),
        ]

    def estimate_steps(self, history: History, steps: int) -> Sequence[Calls]:
        """Estimate what `choose_steps` asks at most."""
        interactions = len(find_last_steps(history, steps)[0])
        return [
            *estimate_learning(self.variant, interactions, steps),
            estimate_tests(self.variant, interactions, steps),
        ]

    def create_agents(self) -> Agents:
        """Create agents that have not interacted yet.

        Raises:
            MethodFailed: No item has a text.
        """
        if not any(item.title or item.description for item in self.dataset.items):
            raise MethodFailed(
                f"{self.name}: no item of {self.dataset.name} has a title or a description, and"
                " agents speak of nothing else; add them to the data (docs/data.md)"
            )
        return Agents(self.dataset.items)


def list_pairs(history: History, seed: int) -> list[Pair]:
    """Return all interactions with their negative items, in the order of time."""
    columns = (history.user, history.item, draw_negatives(history, seed))
    return [Pair(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def find_last_steps(history: History, steps: int) -> tuple[I64, I64]:
    """Find the last interactions of each user who has so many.

    Returns:
        (places, step), each [P]: places in the history, ascending, and the number of the step from
        0, the earliest.
    """
    left = np.zeros(len(history.user), np.int64)
    seen = np.zeros(history.users, np.int64)
    for place in range(len(history.user) - 1, -1, -1):
        left[place] = seen[history.user[place]]
        seen[history.user[place]] += 1
    places = np.flatnonzero((left < steps) & (seen[history.user] >= steps))
    return places, steps - 1 - left[places]
