"""RecNet with the whole engine: texts, rounds and numbers."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from propagation.arrays import F64, I64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.asking import Calls
from propagation.laboratory.methods.method import Dependencies, LiveScores, Measured, MethodFailed
from propagation.laboratory.methods.recnet.engine_replay import Ranker, ReplayCache, ReplayPlan
from propagation.laboratory.methods.recnet.question_estimate import EnginePace, estimate_calls
from propagation.model import ReasonerUnavailable


@dataclass(frozen=True)
class RecNet:
    """Replays the history through a new engine, and asks it.

    Methods with equal plans share one replay.

    Attributes:
        plan: What decides the replay.
        replays: Shared by the methods of a run.
        ranker: What ranks after the replay.
    """

    name: str
    plan: ReplayPlan
    replays: ReplayCache
    ranker: Ranker = Ranker.NUMBERS

    def __post_init__(self) -> None:
        """Tell the cache how this method ranks."""
        self.replays.expect(self.plan, self.ranker)

    @property
    def depends_on(self) -> Dependencies:
        return self.plan.depends_on

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        scores = await self.replays.replay(self.plan, history, questions, seed)
        return scores[self.ranker]

    def follow(self, history: History, questions: Questions, known: I64, seed: int) -> LiveScores:
        return self.replays.follow(self.plan, self.ranker, history, questions, known, seed)

    def get_measured(self, seed: int) -> Measured:
        return self.replays.get_measured(self.plan, seed)


@dataclass(frozen=True)
class AskingRecNet(RecNet):
    """RecNet whose reasoner is a language model, which also ranks.

    Attributes:
        pace: What decides how much is asked.
        check_usable: Raises MethodFailed if a call of the model failed for good. The engine goes on
            without some answers, such as an evolution's decision.
    """

    pace: EnginePace = field(kw_only=True)
    check_usable: Callable[[], None] = field(kw_only=True)

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        """Rank the candidates of each question.

        Returns:
            [Q,C] scores; a row of NaN where the model gave no usable order.

        Raises:
            MethodFailed: The model answers no call now, or none of its answers is usable.
        """
        try:
            scores = await super().score(history, questions, seed)
        except ReasonerUnavailable as error:
            raise MethodFailed(str(error)) from error
        self.check_usable()
        return scores

    async def follow(
        self, history: History, questions: Questions, known: I64, seed: int
    ) -> LiveScores:
        """Rank the candidates of each question; see `score`."""
        try:
            async with aclosing(super().follow(history, questions, known, seed)) as answers:
                async for scores in answers:
                    yield scores
        except ReasonerUnavailable as error:
            raise MethodFailed(str(error)) from error
        self.check_usable()

    def estimate(self, history: History, questions: Questions) -> Sequence[Calls]:
        """Estimate the calls of learning and of ranking."""
        clients = history.users + history.items
        return estimate_calls(
            self.pace, len(history.event), clients, self.replays.described, len(questions.user)
        )
