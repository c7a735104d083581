"""What both agents see of a user, and the loop between them.

Source:
    AFL, Algorithm 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from propagation.arrays import F64, I64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.afl.ports import INVALID
from propagation.laboratory.methods.afl.prompts import (
    DECIDE,
    LIKE,
    RECOMMEND,
    Chosen,
    Decided,
    Rejected,
    ask_decision,
    ask_liking,
    ask_recommendation,
)
from propagation.laboratory.methods.asking import Ask, Calls
from propagation.laboratory.methods.asking.answers import (
    ask_for_part,
    count_prompt_tokens,
    run_together,
)
from propagation.laboratory.methods.asking.shown_items import ShownItems
from propagation.laboratory.methods.dependencies import digest
from propagation.laboratory.methods.method import Dependencies
from propagation.laboratory.methods.wrappers.item_scores import ItemScorer

ANSWER_TOKENS, ROUND_TOKENS = 90, 230
"""About how many tokens an answer has, and a round of the memory, with reasons of 60 words."""


class Case(NamedTuple):
    """What the agents know of one user and the candidates.

    Attributes:
        history: Texts, the newest first.
        candidates: Texts by number from 1.
        suggested: I_m, the recommendation model's item; None: there is no such model.
        rewards: [C] S, the reward model's score of each candidate; None: there is no such model.
    """

    history: Sequence[str]
    candidates: Mapping[str, str]
    suggested: str | None
    rewards: F64 | None

    def show(self, place: int) -> str:
        """Return the text of a candidate."""
        return self.candidates[str(place + 1)]

    def reward(self, place: int) -> float | None:
        """Return the reward model's score of a candidate."""
        return None if self.rewards is None else float(self.rewards[place])


class Trace(NamedTuple):
    """What became of a loop.

    Attributes:
        places: By the number of iterations that are allowed, the recommended candidate; INVALID
            where an answer that it needs was not usable.
        memory: The rounds that ended with a no, as both agents remember them (M_r and M_u).
    """

    places: list[int]
    memory: list[Rejected]


@dataclass(frozen=True)
class Agents:
    """A recommendation agent and a user agent on one model.

    Attributes:
        model: Names the model and what else decides its answers.
        base: Scores for the recommendation agent's suggestion; None: without.
        reward: Scores for the user agent; None: without.
    """

    ask: Ask
    model: str
    items: ShownItems
    base: ItemScorer | None
    reward: ItemScorer | None

    @property
    def depends_on(self) -> Dependencies:
        """What decides the answers; also what the methods inside depend on.

        Raises:
            MethodNotInstalled: A method inside is missing.
        """
        return {
            "model": self.model,
            "prompts": digest(f"{RECOMMEND} {DECIDE} {LIKE}"),
            **{
                f"{one.method.name}: {name}": value
                for one in (self.base, self.reward)
                if one is not None
                for name, value in one.method.depends_on.items()
            },
        }

    async def prepare(self, history: History, questions: Questions, seed: int) -> list[Case]:
        """Score the candidates, and describe each question's user.

        Args:
            seed: Also draws the suggestion among equal scores.
        """
        draw = np.random.default_rng(seed)
        rows = np.arange(len(questions.user))[:, None]
        suggested: list[int] | None = None
        rewards: F64 | None = None
        if self.base is not None:
            found = await self.base.score(history, questions.user, questions.time, seed)
            scores = found.scores[rows, questions.candidates]
            best = scores == scores.max(axis=1, keepdims=True)
            suggested = np.argmax(best * draw.random(best.shape), axis=1).tolist()
        if self.reward is not None:
            found = await self.reward.score(history, questions.user, questions.time, seed)
            rewards = found.shares[rows, questions.candidates]
        return self._describe(history, questions, suggested, rewards)

    def _describe(
        self,
        history: History,
        questions: Questions,
        suggested: Sequence[int] | None,
        rewards: F64 | None,
    ) -> list[Case]:
        histories = self.items.list_histories(history)
        return [
            Case(
                histories[user],
                self.items.number(candidates),
                None if suggested is None else self.items.show(int(candidates[suggested[row]])),
                None if rewards is None else rewards[row],
            )
            for row, (user, candidates) in enumerate(
                zip(questions.user.tolist(), questions.candidates, strict=True)
            )
        ]

    async def recommend(self, case: Case, memory: Sequence[Rejected]) -> Chosen | None:
        """Ask f_r; None if no answer is usable."""
        question = ask_recommendation(case.history, case.candidates, case.suggested, memory)
        chosen: Chosen | None = await ask_for_part(self.ask, question, "recommendation")
        return chosen

    async def decide(
        self, case: Case, chosen: Chosen, memory: Sequence[Rejected]
    ) -> Decided | None:
        """Ask f_u; None if no answer is usable."""
        question = ask_decision(
            case.history,
            case.candidates,
            case.show(chosen.place),
            chosen.reason,
            case.reward(chosen.place),
            memory,
        )
        decided: Decided | None = await ask_for_part(self.ask, question, "decision")
        return decided

    async def like(self, case: Case, place: int, memory: Sequence[Rejected]) -> float:
        """Ask the user agent whether it likes an item.

        Returns:
            1 for yes and 0 for no; NaN if no answer is usable.
        """
        question = ask_liking(case.history, case.show(place), case.reward(place), memory)
        decided: Decided | None = await ask_for_part(self.ask, question, "decision")
        return np.nan if decided is None else float(decided.yes)

    async def loop(self, case: Case, iterations: int, *, decide_last: bool) -> Trace:
        """Run Algorithm 1 for one user.

        The result after at most n iterations is the same whatever number is allowed, so one loop
        gives all of them.

        Args:
            decide_last: Ask the user agent in the last iteration, too. The recommended item does
                not depend on it; the memory does.
        """
        trace = Trace([], [])
        for number in range(1, iterations + 1):
            chosen = await self.recommend(case, trace.memory)  # line 5
            if chosen is None:
                return _fill(trace, INVALID, iterations)
            trace.places.append(chosen.place)
            if number == iterations and not decide_last:
                break
            decided = await self.decide(case, chosen, trace.memory)  # lines 6 and 7
            if decided is None:
                return _fill(trace, INVALID, iterations)
            if decided.yes:
                return _fill(trace, chosen.place, iterations)
            trace.memory.append(  # lines 9 and 10
                Rejected(case.show(chosen.place), chosen.reason, decided.reason)
            )
        return trace

    async def run_loops(self, cases: Sequence[Case], iterations: int) -> I64:
        """Run the loop for each user; return the places, [Q,iterations]."""
        traces = await run_together(
            self.loop(case, iterations, decide_last=False) for case in cases
        )
        return np.array([trace.places for trace in traces], np.int64).reshape(-1, iterations)

    def estimate_loops(
        self, history: History, questions: Questions, iterations: int, *, decide_last: bool
    ) -> list[Calls]:
        """Estimate the most calls: the user agent always says no."""
        cases = self.describe_roughly(history, questions)
        asked = [
            ask_recommendation(one.history, one.candidates, one.suggested, ()) for one in cases
        ]
        judged = [
            ask_decision(one.history, one.candidates, one.show(0), "", one.reward(0), ())
            for one in cases
        ]
        decisions = iterations if decide_last else iterations - 1
        return [
            _estimate(
                RECOMMEND.label, sum(map(count_prompt_tokens, asked)), len(cases), iterations
            ),
            _estimate(DECIDE.label, sum(map(count_prompt_tokens, judged)), len(cases), decisions),
        ]

    def estimate_likings(self, history: History, questions: Questions, rounds: int) -> list[Calls]:
        """Estimate a call for each candidate.

        Args:
            rounds: How many rounds the memory has.
        """
        cases = self.describe_roughly(history, questions)
        each = questions.candidates.shape[1]
        asked = [ask_liking(one.history, one.show(0), one.reward(0), ()) for one in cases]
        tokens = sum(count_prompt_tokens(one) + rounds * ROUND_TOKENS for one in asked)
        calls = each * len(cases)
        return [Calls(LIKE.label, calls, each * tokens, ANSWER_TOKENS * calls)]

    def describe_roughly(self, history: History, questions: Questions) -> list[Case]:
        """Describe each question's user with made-up scores, which need no learning."""
        return self._describe(
            history,
            questions,
            None if self.base is None else [0] * len(questions.user),
            None if self.reward is None else np.full(questions.candidates.shape, 0.5),
        )


def _fill(trace: Trace, place: int, iterations: int) -> Trace:
    """Fill the iterations that did not take place."""
    trace.places.extend([place] * (iterations - len(trace.places)))
    return trace


def _estimate(label: str, prompt_tokens: int, users: int, iterations: int) -> Calls:
    """Estimate a prompt that is asked once an iteration.

    Each time the memory has one round more.

    Args:
        prompt_tokens: Of all users' first calls together.
    """
    rounds = iterations * (iterations - 1) // 2
    return Calls(
        label,
        users * iterations,
        prompt_tokens * iterations + users * rounds * ROUND_TOKENS,
        users * iterations * ANSWER_TOKENS,
    )
