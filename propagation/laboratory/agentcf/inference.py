"""Ranks candidates by the agents' memories.

Source:
    AgentCF, section 3.3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from propagation.adapters.openai.prompting import quote_as_data
from propagation.arrays import F64
from propagation.laboratory.agentcf.asked import Asked
from propagation.laboratory.agentcf.memory import Agents
from propagation.laboratory.agentcf.prompts import rank
from propagation.laboratory.agentcf.prompts.shared import USER_MEMORY_CHARS
from propagation.laboratory.agentcf.variant import Prompting, Variant
from propagation.laboratory.history import Questions
from propagation.laboratory.methods.asking.answers import run_together
from propagation.ports import Embedder

NO_MEMORIES: Mapping[int, str] = {}


@dataclass(frozen=True)
class Inference:
    """Ranks by one call a question.

    Attributes:
        embedder: Finds what in the long-term memory is nearest to the candidates' memories.
    """

    variant: Variant
    agents: Agents
    asked: Asked
    embedder: Embedder

    async def score(self, questions: Questions) -> F64:
        """Rank the candidates of each question.

        Returns:
            [Q,C] scores; rows of NaN where the model gave no usable answer.
        """
        rows = await run_together(
            self.rank(user, candidates)
            for user, candidates in zip(
                questions.user.tolist(), questions.candidates.tolist(), strict=True
            )
        )
        return np.array(rows, np.float64).reshape(questions.candidates.shape)

    async def rank(
        self, user: int, candidates: Sequence[int], memories: Mapping[int, str] = NO_MEMORIES
    ) -> F64:
        """Rank candidates for a user.

        Args:
            memories: Shown in place of some candidates' own.

        Returns:
            [C] scores; NaN if the model gave no usable answer.
        """
        shown = [self.agents.show_item(item, memories.get(item)) for item in candidates]
        prompting = self.variant.prompting if self.variant.user_agents else Prompting.HISTORY
        question = rank.build_question(
            prompting, await self._show_user(user, prompting, candidates), shown
        )
        order: list[int] | None = await self.asked.get(question)
        scores = np.full(len(candidates), np.nan)
        if order is not None:
            scores[order] = np.arange(len(candidates), 0, -1)
        return scores

    async def _show_user(
        self, user: int, prompting: Prompting, candidates: Sequence[int]
    ) -> Mapping[str, Any]:
        shown = self.agents.show_user(user) if self.variant.user_agents else {}
        if prompting is Prompting.HISTORY:
            return {**shown, "history": self.agents.show_history(user)}
        if prompting is Prompting.RETRIEVAL:
            earlier = await self._retrieve(user, candidates)
            return {**shown, **({"earlier": earlier} if earlier else {})}
        return shown

    async def _retrieve(self, user: int, candidates: Sequence[int]) -> str:
        """Return the earlier memory that is nearest to all candidates' memories together.

        The general preference that the user began with is never returned.
        """
        pool = self.agents.get_user(user).long_term[1:]
        if not pool:
            return ""
        query = "\n".join(" ".join(self.agents.show_item(item).values()) for item in candidates)
        vectors = await self.embedder.embed([query, *pool])
        nearest = int(np.argmax(vectors[1:] @ vectors[0]))
        return quote_as_data(pool[nearest], USER_MEMORY_CHARS)
