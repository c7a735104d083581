"""RecNet with the whole engine: texts, rounds and numbers."""

from dataclasses import dataclass

from propagation.arrays import F64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import Measured
from propagation.laboratory.methods.recnet.engine_replay import ReplayCache, ReplayPlan


@dataclass(frozen=True)
class RecNet:
    """Replays the history through a new engine, and asks it.

    Methods with equal plans share one replay.

    Attributes:
        plan: What decides the replay.
        replays: Shared by the methods of a run.
        propagate: Rank with propagation, or by the other features only.
    """

    name: str
    plan: ReplayPlan
    replays: ReplayCache
    propagate: bool = True

    def __post_init__(self) -> None:
        """Tell the cache how this method asks."""
        self.replays.expect(self.plan, self.propagate)

    @property
    def version(self) -> str:
        return self.plan.version

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        replayed = await self.replays.replay(self.plan, history, questions, seed)
        return replayed.scores[self.propagate]

    def get_measured(self, seed: int) -> Measured:
        return self.replays.get_measured(self.plan, seed)
