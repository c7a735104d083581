"""RecNet: this project's own engine, with any settings.

Source:
    RecNet, section 2; docs/method.md.
"""

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from propagation.arrays import F64, I64
from propagation.datasets.dataset import Dataset, Event
from propagation.laboratory.history import History, Questions
from propagation.model import NewInteraction
from propagation.workflow.engine import Engine
from propagation.workflow.read.recommend import RecommendRequest
from propagation.workflow.replay import replay

OpenEngine = Callable[[Path, int], Engine]
"""Builds an engine on a database file, with a seed."""
Convert = Callable[[Iterable[Event]], Iterable[NewInteraction]]
"""Checks events and converts them for recording."""


@dataclass(frozen=True)
class RecNet:
    """Replays the history through a new engine, and asks it.

    Attributes:
        version: The settings that decide the scores.
        dataset: The dataset that the rows belong to.
        propagate: Rank with propagation, or by the other features only.
    """

    name: str
    version: str
    dataset: Dataset
    open_engine: OpenEngine
    convert: Convert
    propagate: bool = True

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        known = np.zeros(len(self.dataset), np.bool_)
        known[history.event] = True
        events = (event for event, learn in zip(self.dataset.events, known, strict=True) if learn)
        with tempfile.TemporaryDirectory(prefix="propagation-lab-") as folder:
            engine = self.open_engine(Path(folder) / "graph.db", seed)
            await engine.open()
            try:
                await replay(engine, self.dataset.clients, self.convert(events))
                return np.array(
                    [
                        await self._ask(engine, *question)
                        for question in zip(*questions, strict=True)
                    ]
                )
            finally:
                await engine.close()

    async def _ask(self, engine: Engine, user: int, time: int, candidates: I64) -> F64:
        ids = [self.dataset.items[row].key.id for row in candidates]
        scores: dict[str, float] = {}
        for start in range(0, len(ids), 1_000):
            part = ids[start : start + 1_000]
            ranking = await engine.recommend(
                RecommendRequest(
                    user_id=self.dataset.users[user].key.id,
                    limit=len(part),
                    candidates=part,
                    exclude_seen=False,
                    propagate=self.propagate,
                    now=time / 1_000,
                )
            )
            scores.update((item.item_id, item.score) for item in ranking.items)
        return np.array([scores[one] for one in ids])
