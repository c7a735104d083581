"""Advertisements made together: do users prefer them to one model's draft?

Three advertisers criticise a draft by one aspect each, and it is revised.

Source:
    AgentCF 4.4.4, Figure 6.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from propagation.arrays import F64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.agentcf.asked import Asked
from propagation.laboratory.agentcf.estimate import ITEM_CHARS, count_calls, estimate_learning
from propagation.laboratory.agentcf.memory import Agents
from propagation.laboratory.agentcf.prompts import advertise
from propagation.laboratory.agentcf.prompts.advertise import Aspect
from propagation.laboratory.agentcf.prompts.shared import EXPLANATION_CHARS, USER_MEMORY_CHARS
from propagation.laboratory.agentcf.studies.agent_method import get_agent_method, has_agents
from propagation.laboratory.history import History, Targets
from propagation.laboratory.methods import Method
from propagation.laboratory.methods.asking import AskingMethod, Calls
from propagation.laboratory.methods.asking.answers import run_together
from propagation.laboratory.protocols.last_events import check_enough, split_last


class Pair(NamedTuple):
    """Two advertisements for one item."""

    draft: str
    revised: str


@dataclass(frozen=True)
class Advertisements:
    """Lets each user choose between a draft and its revision."""

    @property
    def measures(self) -> Mapping[str, str]:
        """The header of each measure."""
        return {
            "invalid": "invalid",
            "first": "prefers the first shown",
            "draft": "prefers the draft",
            "revised": "prefers the revised one",
        }

    @property
    def description(self) -> str:
        """What is chosen, in a sentence."""
        return (
            "The item of each user's last event is advertised twice: by a draft, and by what"
            f" {len(Aspect)} advertisers ({', '.join(Aspect)}) made of it. The user agent chooses"
            " twice, so that each one is shown first once; without any effect both figures are one"
            " half. A user for whom an answer is unusable counts as `invalid`, and is left out."
        )

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Split a dataset at each user's last interaction.

        Raises:
            InvalidInput: Too few users have two events.
        """
        history, targets = split_last(dataset)
        check_enough(dataset, len(targets.user), "with two events or more")
        return history, targets

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return what each user prefers, [T]: the share of two choices.

        Raises:
            MethodFailed: The method has no agents of users.
        """
        studied = get_agent_method(method, "it has no agents of users that choose", users=True)
        agents, asked = await studied.optimize(history, seed)
        items = np.unique(targets.item).tolist()
        made = await run_together(_advertise(agents, asked, item) for item in items)
        pairs = dict(zip(items, made, strict=True))
        chosen = await run_together(
            _choose(agents, asked, user, pairs[item])
            for user, item in zip(targets.user.tolist(), targets.item.tolist(), strict=True)
        )
        draft_first, revised_first = np.array(chosen, np.float64).reshape(-1, 2).T
        revised = (1 - draft_first + revised_first) / 2
        return {
            "invalid": np.isnan(revised).astype(np.float64),
            "first": (draft_first + revised_first) / 2,
            "draft": 1 - revised,
            "revised": revised,
        }

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`, rather too many than too few."""
        if not has_agents(method):
            return []
        items = len(np.unique(targets.item))
        text = EXPLANATION_CHARS
        shown = ITEM_CHARS + text
        return [
            *estimate_learning(method.variant, len(history.user), 0),
            count_calls(advertise.DRAFT, items, ITEM_CHARS, text),
            *(
                count_calls(prompt, items, shown, text)
                for prompt in advertise.CRITIQUE_PROMPTS.values()
            ),
            count_calls(advertise.REVISE, items, shown + len(Aspect) * text, text),
            count_calls(
                advertise.CHOOSE, 2 * len(targets.user), USER_MEMORY_CHARS + 2 * text, text
            ),
        ]


async def _advertise(agents: Agents, asked: Asked, item: int) -> Pair | None:
    """Write both advertisements for an item; None if an answer is unusable."""
    shown = agents.show_item(item)
    draft: str | None = await asked.get(advertise.build_draft_question(shown))
    if draft is None:
        return None
    critiques: Sequence[str | None] = await run_together(
        asked.get(advertise.build_critique_question(one, shown, draft)) for one in Aspect
    )
    said = {
        aspect: text for aspect, text in zip(Aspect, critiques, strict=True) if text is not None
    }
    if len(said) < len(Aspect):
        return None
    revised: str | None = await asked.get(advertise.build_revision_question(shown, draft, said))
    return None if revised is None else Pair(draft, revised)


async def _choose(
    agents: Agents, asked: Asked, user: int, pair: Pair | None
) -> tuple[float, float]:
    """Return whether the first one is chosen, in both orders.

    In the first order the draft is shown first, in the other one the revision. NaN
    where there is no usable answer.
    """
    if pair is None:
        return np.nan, np.nan
    person = agents.show_user(user)
    both = await run_together(
        asked.get(advertise.build_choice_question(person, *ads))
        for ads in ((pair.draft, pair.revised), (pair.revised, pair.draft))
    )
    first, second = (np.nan if one is None else float(one) for one in both)
    return first, second
