"""AFL's user agent alone, which decides about each item without a loop.

Source:
    AFL, section 3.3 and Table 5 ("User Agent").
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.afl.agents import Agents
from propagation.laboratory.methods.asking import Calls
from propagation.laboratory.methods.asking.answers import run_together
from propagation.laboratory.methods.method import Dependencies


@dataclass(frozen=True)
class UserAgent:
    """One call for each user and item."""

    name: str
    agents: Agents

    @property
    def depends_on(self) -> Dependencies:
        return self.agents.depends_on

    async def decide(self, history: History, questions: Questions, seed: int) -> F64:
        """Decide about each candidate; see DecidingMethod."""
        cases = await self.agents.prepare(history, questions, seed)
        decisions = await run_together(
            self.agents.like(case, place, ())
            for case in cases
            for place in range(questions.candidates.shape[1])
        )
        return np.array(decisions).reshape(questions.candidates.shape)

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        """Score what the user agent likes 1 and the rest 0.

        Returns:
            [Q,C]; a row of NaN where a decision is invalid.
        """
        decisions = await self.decide(history, questions, seed)
        decisions[np.isnan(decisions).any(axis=1)] = np.nan
        return decisions

    def estimate(self, history: History, questions: Questions) -> Sequence[Calls]:
        """Estimate a call for each candidate."""
        return self.agents.estimate_likings(history, questions, 0)

    def estimate_decisions(self, history: History, questions: Questions) -> Sequence[Calls]:
        """Estimate a call for each candidate."""
        return self.agents.estimate_likings(history, questions, 0)
