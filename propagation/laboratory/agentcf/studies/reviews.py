"""User-user interaction: do reviews change decisions?

Source:
    AgentCF 4.4.1.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.agentcf.asked import Asked
from propagation.laboratory.agentcf.estimate import ITEM_CHARS, count_calls, estimate_learning
from propagation.laboratory.agentcf.memory import Agents
from propagation.laboratory.agentcf.prompts import review
from propagation.laboratory.agentcf.prompts.review import Stance
from propagation.laboratory.agentcf.prompts.shared import EXPLANATION_CHARS, USER_MEMORY_CHARS
from propagation.laboratory.agentcf.studies.agent_method import get_agent_method, has_agents
from propagation.laboratory.history import History, Targets
from propagation.laboratory.methods import Method
from propagation.laboratory.methods.asking import AskingMethod, Calls
from propagation.laboratory.methods.asking.answers import run_together
from propagation.laboratory.protocols.last_events import check_enough, split_last

READ: Mapping[str, tuple[Stance, int]] = {
    "praise": (Stance.PRAISE, 0),
    "criticism": (Stance.CRITICISM, 0),
    "praise_unlike": (Stance.PRAISE, -1),
}
"""By measure, the review that is read, and its writer: the most or the least similar user."""


@dataclass(frozen=True)
class Reviews:
    """Lets each user decide about an item before and after a review.

    Reviews are written by users who have the item: the most similar one praises and criticises it,
    and the least similar one praises it.
    """

    @property
    def measures(self) -> Mapping[str, str]:
        """The header of each measure."""
        return {
            "invalid": "invalid",
            "before": "takes it",
            "praise": "after praise",
            "criticism": "after criticism",
            "praise_unlike": "after praise by an unlike user",
        }

    @property
    def description(self) -> str:
        """What is decided, in a sentence."""
        return (
            "Each user decides whether to take the item of the last event, before and after reading"
            " a review by a user who has it: the one who shares most items, or the one who shares"
            " fewest. An unusable decision or review counts as `invalid`, and as not taken."
        )

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Split a dataset at each user's last interaction.

        Raises:
            InvalidInput: Too few targets have another user who could review them.
        """
        history, targets = split_last(dataset)
        enough = sum(len(one) > 0 for one in list_reviewers(history, targets))
        check_enough(dataset, enough, "whose last item another user took before")
        return history, targets

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return whether each user takes the item, [T].

        Each measure says what the user read before. NaN where nobody can review the item;
        `praise_unlike` needs two who can.

        Raises:
            MethodFailed: The method has no agents of users.
        """
        lack = "it has no agents of users that write reviews"
        agents, asked = await get_agent_method(method, lack, users=True).optimize(history, seed)
        out = {name: np.full(len(targets.user), np.nan) for name in self.measures}

        async def decide(row: int, user: int, item: int, reviewers: Sequence[int]) -> None:
            found = {"before": await _decide(agents, asked, user, item)}
            for name, (stance, place) in READ.items():
                if place == 0 or len(reviewers) > 1:
                    writer = reviewers[place]
                    found[name] = await _decide_after(agents, asked, user, item, stance, writer)
            for name, taken in found.items():
                out[name][row] = taken is True
            out["invalid"][row] = np.mean([taken is None for taken in found.values()])

        rows = zip(
            range(len(targets.user)),
            targets.user.tolist(),
            targets.item.tolist(),
            list_reviewers(history, targets),
            strict=True,
        )
        await run_together(decide(*row) for row in rows if row[-1])
        return out

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`, rather too many than too few."""
        if not has_agents(method):
            return []
        reviewers = list_reviewers(history, targets)
        some, two = (sum(len(one) > least for one in reviewers) for least in (0, 1))
        shown = USER_MEMORY_CHARS + ITEM_CHARS
        more = USER_MEMORY_CHARS + EXPLANATION_CHARS
        written = {Stance.PRAISE: some + two, Stance.CRITICISM: some}
        return [
            *estimate_learning(method.variant, len(history.user), 0),
            *(
                count_calls(review.REVIEW_PROMPTS[stance], count, shown, EXPLANATION_CHARS)
                for stance, count in written.items()
            ),
            count_calls(review.DECIDE, 3 * some + two, shown + more, EXPLANATION_CHARS),
        ]


async def _decide(agents: Agents, asked: Asked, user: int, item: int) -> bool | None:
    """Return whether a user takes an item; None: no usable answer."""
    taken: bool | None = await asked.get(
        review.build_decision_question(agents.show_user(user), agents.show_item(item))
    )
    return taken


async def _decide_after(
    agents: Agents, asked: Asked, user: int, item: int, stance: Stance, writer: int
) -> bool | None:
    """Return what a user decides after a review; None: no usable answer."""
    by, shown = agents.show_user(writer), agents.show_item(item)
    text: str | None = await asked.get(review.build_review_question(stance, by, shown))
    if text is None:
        return None
    taken: bool | None = await asked.get(
        review.build_decision_question(agents.show_user(user), shown, text, by)
    )
    return taken


def list_reviewers(history: History, targets: Targets) -> list[list[int]]:
    """List the users who have each target, the most similar first.

    Similarity is the cosine of the items of two users; equal ones are in the order of their rows.
    """
    had = [set(items.tolist()) for items in history.list_items_by_user()]
    adopters = history.list_users_by_item()

    def measure_similarity(one: int, other: int) -> float:
        shared = len(had[one] & had[other])
        return shared / math.sqrt(max(len(had[one]) * len(had[other]), 1))

    out = []
    for user, item in zip(targets.user.tolist(), targets.item.tolist(), strict=True):
        others = [other for other in adopters.get(item, ()) if other != user]
        similarity = {other: measure_similarity(user, other) for other in others}
        out.append(sorted(others, key=lambda other: (-similarity[other], other)))
    return out
