"""AFL as a recommender, and its recommendation agent alone.

Source:
    AFL, section 3.4 and Table 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64, I64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.afl.agents import Agents, Case, Trace
from propagation.laboratory.methods.afl.ports import INVALID
from propagation.laboratory.methods.asking import Calls
from propagation.laboratory.methods.asking.answers import run_together
from propagation.laboratory.methods.method import Dependencies

ITERATIONS = 4


@dataclass(frozen=True)
class RecommendationAgent:
    """The recommendation agent alone: one call for each user ("Rec Agent")."""

    name: str
    agents: Agents

    @property
    def depends_on(self) -> Dependencies:
        return self.agents.depends_on

    async def choose(self, history: History, questions: Questions, seed: int) -> I64:
        """Choose once; see ChoosingMethod."""
        cases = await self.agents.prepare(history, questions, seed)
        return await self.agents.run_loops(cases, 1)

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        """Score the chosen item above the others; NaN where invalid."""
        return score_choices(await self.choose(history, questions, seed), questions)

    def estimate(self, history: History, questions: Questions) -> Sequence[Calls]:
        """Estimate one call for each question."""
        return [
            one
            for one in self.agents.estimate_loops(history, questions, 1, decide_last=False)
            if one.calls
        ]


@dataclass(frozen=True)
class FeedbackLoop:
    """Both agents, in at most ITERATIONS iterations.

    As a recommender it makes at most two calls an iteration, and one in the last: the user agent's
    last decision would change nothing. As a simulation of users it runs the loop on the user's own
    items, with all decisions, and then asks the user agent, who remembers it, about each item.
    """

    name: str
    agents: Agents
    iterations: int = ITERATIONS

    @property
    def depends_on(self) -> Dependencies:
        return {**self.agents.depends_on, "iterations": str(self.iterations)}

    async def choose(self, history: History, questions: Questions, seed: int) -> I64:
        """Choose; see ChoosingMethod."""
        cases = await self.agents.prepare(history, questions, seed)
        return await self.agents.run_loops(cases, self.iterations)

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        """Score the last iteration's item above the others; NaN where invalid."""
        return score_choices(await self.choose(history, questions, seed), questions)

    def estimate(self, history: History, questions: Questions) -> Sequence[Calls]:
        """Estimate the most calls: the user agent always says no."""
        return self.agents.estimate_loops(history, questions, self.iterations, decide_last=False)

    async def decide(self, history: History, questions: Questions, seed: int) -> F64:
        """Decide about each candidate; see DecidingMethod."""
        cases = await self.agents.prepare(history, questions, seed)
        decisions = await run_together(map(self._simulate, cases))
        return np.array(decisions).reshape(questions.candidates.shape)

    async def _simulate(self, case: Case) -> list[float]:
        trace: Trace = await self.agents.loop(case, self.iterations, decide_last=True)
        return await run_together(
            self.agents.like(case, place, trace.memory) for place in range(len(case.candidates))
        )

    def estimate_decisions(self, history: History, questions: Questions) -> Sequence[Calls]:
        """Estimate the most calls: the user agent always says no."""
        return [
            *self.agents.estimate_loops(history, questions, self.iterations, decide_last=True),
            *self.agents.estimate_likings(history, questions, self.iterations),
        ]


def score_choices(chosen: I64, questions: Questions) -> F64:
    """Score the last choice 1 and the other candidates 0.

    Returns:
        [Q,C]; a row of NaN where the choice is invalid.
    """
    scores = np.zeros(questions.candidates.shape)
    last = chosen[:, -1]
    valid = np.flatnonzero(last != INVALID)
    scores[valid, last[valid]] = 1.0
    scores[last == INVALID] = np.nan
    return scores
