"""A ranker in place of AFL's loop.

Source:
    AFL 4.3.1 and Table 6.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, Field

from propagation.adapters.openai.prompting import (
    Answer,
    ExpectedPart,
    Number,
    Prompt,
    Question,
    TextCheck,
    Words,
    drop_none,
    limit_chars,
    to_list,
)
from propagation.arrays import F64, I64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.afl.agents import ANSWER_TOKENS, Agents, Case
from propagation.laboratory.methods.afl.feedback_loop import score_choices
from propagation.laboratory.methods.afl.ports import INVALID
from propagation.laboratory.methods.afl.prompts import DATA, REASON_CHARS, Recommendation
from propagation.laboratory.methods.asking import Calls
from propagation.laboratory.methods.asking.answers import (
    ask_for_part,
    count_prompt_tokens,
    run_together,
)
from propagation.laboratory.methods.dependencies import digest
from propagation.laboratory.methods.method import Dependencies

LISTED = 5
LIST = Prompt(
    "afl_list@1",
    f"""You are a recommendation system. Refine the user's history to predict the {LISTED} items
that the user most likely chooses next from the list of candidates.

{DATA} `history`: the items that the user chose, the newest first. `list_from`: the candidates by
number; their order says nothing. `suggested`: the item that another recommendation model suggests,
for your reference.
`shortlist`: `reason`: at most 60 words; `items`: the numbers of {LISTED} candidates.""",
)
PICK = Prompt(
    "afl_pick@1",
    f"""You are the user of a recommender, with the history in the data. Pick the item that you most
likely choose next, by your tastes and your history.

{DATA} `history`: the items that you chose, the newest first. `pick_from`: the items by number;
their order says nothing. `reward_scores`: by number, what a reward model says of how well the item
fits your history: the share, from 0 to 1, of the items that you never had which fit less.
Some useful tips: 1. First give the reasons, and then the item. 2. You can refer to the scores.
`recommendation`: `reason`: at most 60 words; `item`: the number of an item.""",
)


class Shortlist(Answer, stands_for="items"):
    """The reason, and the numbers of candidates."""

    reason: Words = limit_chars(REASON_CHARS)
    items: Annotated[list[Number], BeforeValidator(to_list), Field(default_factory=list)]


@dataclass(frozen=True)
class UserRanker:
    """The user agent alone picks one of all candidates ("User Agent")."""

    name: str
    agents: Agents

    @property
    def depends_on(self) -> Dependencies:
        return {**self.agents.depends_on, "own prompts": digest(str(PICK))}

    async def choose(self, history: History, questions: Questions, seed: int) -> I64:
        """Choose once; see ChoosingMethod."""
        cases = await self.agents.prepare(history, questions, seed)
        everything = range(questions.candidates.shape[1])
        places = await run_together(pick(self.agents, case, everything) for case in cases)
        return np.array(places, np.int64)[:, None]

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        """Score the chosen item above the others; NaN where invalid."""
        return score_choices(await self.choose(history, questions, seed), questions)

    def estimate(self, history: History, questions: Questions) -> Sequence[Calls]:
        """Estimate one call for each question."""
        everything = range(questions.candidates.shape[1])
        cases = self.agents.describe_roughly(history, questions)
        return [_estimate(PICK, [ask_pick(case, everything) for case in cases])]


@dataclass(frozen=True)
class RankedList:
    """The recommendation agent lists five candidates; a ranker takes the best.

    Attributes:
        by_user: The user agent ranks; else the reward model.
    """

    name: str
    agents: Agents
    by_user: bool

    @property
    def depends_on(self) -> Dependencies:
        own = (LIST, PICK if self.by_user else None)
        return {**self.agents.depends_on, "own prompts": digest(str(own))}

    async def choose(self, history: History, questions: Questions, seed: int) -> I64:
        """Choose once; see ChoosingMethod."""
        cases = await self.agents.prepare(history, questions, seed)
        return np.array(await run_together(map(self._choose, cases)), np.int64)[:, None]

    async def _choose(self, case: Case) -> int:
        listed: list[int] | None = await ask_for_part(self.agents.ask, ask_list(case), "shortlist")
        if listed is None:
            return INVALID
        if self.by_user:
            return await pick(self.agents, case, listed)
        if case.rewards is None:
            raise ValueError("a reward model ranks, and there is none")
        return max(listed, key=case.rewards.__getitem__)  # of equal ones, the first listed

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        """Score the chosen item above the others; NaN where invalid."""
        return score_choices(await self.choose(history, questions, seed), questions)

    def estimate(self, history: History, questions: Questions) -> Sequence[Calls]:
        """Estimate one or two calls for each question."""
        cases = self.agents.describe_roughly(history, questions)
        out = [_estimate(LIST, list(map(ask_list, cases)))]
        if self.by_user:
            out.append(_estimate(PICK, [ask_pick(case, range(LISTED)) for case in cases]))
        return out


async def pick(agents: Agents, case: Case, places: Sequence[int]) -> int:
    """Let the user agent pick a candidate.

    Returns:
        Its place; INVALID without a usable answer.
    """
    picked: int | None = await ask_for_part(agents.ask, ask_pick(case, places), "recommendation")
    return INVALID if picked is None else picked


def ask_list(case: Case) -> Question:
    """Ask for the places of LISTED candidates, as the only part `shortlist`."""
    count = len(case.candidates)

    def read(answer: Shortlist, check: TextCheck) -> list[int]:
        numbers = dict.fromkeys(answer.items)
        if len(numbers) != LISTED or not numbers.keys() <= set(range(1, count + 1)):
            raise ValueError(f"items must be {LISTED} different numbers from 1 to {count}")
        return [number - 1 for number in numbers]

    return Question(
        LIST,
        drop_none(
            history=case.history,
            list_from=case.candidates,
            suggested=case.suggested,
        ),
        {
            "shortlist": ExpectedPart(
                Shortlist,
                read,
                choices={"items": range(1, count + 1)},
                lengths={"items": (LISTED, LISTED)},
            )
        },
    )


def ask_pick(case: Case, places: Sequence[int]) -> Question:
    """Ask for the place of a candidate, as the only part `recommendation`."""
    shown: Mapping[str, int] = {str(number): place for number, place in enumerate(places, 1)}

    def read(answer: Recommendation, check: TextCheck) -> int:
        if str(answer.item) not in shown:
            raise ValueError(f"item is {answer.item}; the items are 1 to {len(shown)}")
        return shown[str(answer.item)]

    rewards = {
        number: round(reward, 2)
        for number, place in shown.items()
        if (reward := case.reward(place)) is not None
    }
    return Question(
        PICK,
        drop_none(
            history=case.history,
            pick_from={number: case.show(place) for number, place in shown.items()},
            reward_scores=rewards or None,
        ),
        {
            "recommendation": ExpectedPart(
                Recommendation, read, choices={"item": range(1, len(shown) + 1)}
            )
        },
    )


def _estimate(prompt: Prompt, asked: Sequence[Question]) -> Calls:
    return Calls(
        prompt.label,
        len(asked),
        sum(map(count_prompt_tokens, asked)),
        ANSWER_TOKENS * len(asked),
    )
