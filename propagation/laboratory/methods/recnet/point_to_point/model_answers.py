"""Selection and summaries by a language model."""

from collections.abc import Sequence
from typing import Any

from propagation.adapters.openai.prompting import Question
from propagation.laboratory.methods.asking import Ask
from propagation.laboratory.methods.dependencies import digest
from propagation.laboratory.methods.method import Dependencies
from propagation.laboratory.methods.recnet.point_to_point.prompts import (
    SELECT,
    SUMMARIZE,
    ask_to_select,
    ask_to_summarize,
)
from propagation.model import ReasonerFailed
from propagation.ports import Party


class ModelAnswers:
    """Asks a model to select and to summarize."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    @property
    def depends_on(self) -> Dependencies:
        """What decides the answers beside the model; see `Dependencies`."""
        return {"prompts": digest(f"{SELECT} {SUMMARIZE}")}

    async def select(self, sender: Party, nearest: Sequence[Party], count: int) -> Sequence[int]:
        places: list[int] = await self._get_part(ask_to_select(sender, nearest, count), "receivers")
        return places

    async def summarize(self, sender: Party, receivers: Sequence[Party]) -> str:
        text: str = await self._get_part(ask_to_summarize(sender, receivers), "letter")
        return text

    async def _get_part(self, question: Question, part: str) -> Any:
        """Ask, and return one part.

        Raises:
            ReasonerFailed: It is unusable, also after it was asked for once more.
        """
        found = (await self._ask(question)).parts[part]
        if isinstance(found, ReasonerFailed):
            raise found
        return found
