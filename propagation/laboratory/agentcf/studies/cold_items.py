"""Item-item interaction: does a new item gain by what popular items know?

Source:
    AgentCF 4.4.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64, I64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.agentcf.asked import Asked
from propagation.laboratory.agentcf.estimate import (
    ITEM_CHARS,
    count_calls,
    estimate_learning,
    estimate_ranking,
)
from propagation.laboratory.agentcf.inference import Inference
from propagation.laboratory.agentcf.memory import Agents
from propagation.laboratory.agentcf.prompts import learn
from propagation.laboratory.agentcf.prompts.shared import ITEM_MEMORY_CHARS
from propagation.laboratory.agentcf.studies.agent_method import get_agent_method, has_agents
from propagation.laboratory.history import History, Targets
from propagation.laboratory.methods import Method
from propagation.laboratory.methods.asking import AskingMethod, Calls
from propagation.laboratory.methods.asking.answers import run_together
from propagation.laboratory.methods.popularity import count_adopters
from propagation.laboratory.protocols.candidates import draw_others, list_unseen
from propagation.laboratory.protocols.expected_gain import rate_rankings
from propagation.laboratory.protocols.last_events import check_enough, split_last
from propagation.ports import Embedder

N10 = 2
POPULAR_SHARE = 0.2
TEACHERS: Mapping[str, int] = {"unlike": 0, "alike": -1}
"""By measure, the popular item from which a new one learns: the farthest or the nearest one."""


@dataclass(frozen=True)
class ColdItems:
    """Ranks each target as a new item, before and after it learned.

    Attributes:
        negatives: How many items each target is ranked against.
    """

    negatives: int = 9

    @property
    def measures(self) -> Mapping[str, str]:
        """The header of each measure."""
        return {
            "invalid": "invalid",
            "cold": "N@10, cold",
            "unlike": "N@10, after an unlike item",
            "alike": "N@10, after a like item",
        }

    @property
    def description(self) -> str:
        """What is ranked, in a sentence."""
        return (
            "The item of each user's last event is shown as a new one, with its catalogue text, and"
            f" ranked among {self.negatives} drawn items that other users had; then with the memory"
            " that it has after learning from a popular item, the most or the least like it. An"
            " unusable answer counts as `invalid`, and gains 0."
        )

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Split a dataset at each user's last interaction.

        Raises:
            InvalidInput: Too few users have enough items to rank the target against.
        """
        history, targets = split_last(dataset)
        enough = sum(len(pool) >= self.negatives for pool in self._list_pools(history, targets))
        check_enough(
            dataset,
            enough,
            f"with two events or more and {self.negatives} items that only others had",
        )
        return history, targets

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return N@10 of each target by what it learned, [T].

        NaN for a target without enough items to rank it against.

        Raises:
            MethodFailed: The method has no agents of items.
        """
        studied = get_agent_method(method, "it has no agents of items that learn", items=True)
        agents, asked = await studied.optimize(history, seed)
        rows, candidates, place = self._draw(history, targets, seed)
        items = targets.item[rows]
        learned = await _learn(agents, asked, studied.embedder, items, list_popular(history))
        inference = Inference(studied.variant, agents, asked, studied.embedder)
        out = {name: np.full(len(targets.user), np.nan) for name in self.measures}
        out["invalid"][rows] = 0
        for name in ("cold", *TEACHERS):
            scores = await run_together(
                _rank(inference, user, shown, item, learned[name][item])
                for user, shown, item in zip(
                    targets.user[rows].tolist(),
                    candidates.tolist(),
                    items.tolist(),
                    strict=True,
                )
            )
            table = np.array(scores, np.float64).reshape(candidates.shape)
            out[name][rows] = rate_rankings(table, place)[:, N10]
            out["invalid"][rows] += np.isnan(table).any(axis=1) / (1 + len(TEACHERS))
        return out

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`, rather too many than too few."""
        if not has_agents(method):
            return []
        rows, candidates, _ = self._draw(history, targets, seed)
        new = len(np.unique(targets.item[rows]))
        each = len(history.user) / max(history.users, 1)
        return [
            *estimate_learning(method.variant, len(history.user), each),
            count_calls(learn.PROMPT, len(TEACHERS) * new, 2 * ITEM_CHARS, ITEM_MEMORY_CHARS),
            *estimate_ranking(
                method.variant, (1 + len(TEACHERS)) * len(rows), candidates.shape[1], each
            ),
        ]

    def _list_pools(self, history: History, targets: Targets) -> list[I64]:
        """List items of others that a target may be ranked against."""
        had = history.list_items_by_user()
        adopters = count_adopters(history)
        unseen = [
            list_unseen(history, had[user], [item])
            for user, item in zip(targets.user.tolist(), targets.item.tolist(), strict=True)
        ]
        return [items[adopters[items] > 0] for items in unseen]

    def _draw(self, history: History, targets: Targets, seed: int) -> tuple[I64, I64, I64]:
        """Draw candidates.

        Returns:
            The places of the targets that have enough [Q], their candidates [Q,C], and the place
            of the target among these [Q].
        """
        pools = self._list_pools(history, targets)
        rows = np.flatnonzero([len(pool) >= self.negatives for pool in pools])
        candidates = np.empty((len(rows), self.negatives + 1), np.int64)
        place = np.empty(len(rows), np.int64)
        for number, row in enumerate(rows.tolist()):
            draw = np.random.default_rng([seed, 3, int(targets.user[row])])
            others, place[number] = draw_others(draw, pools[row], self.negatives)
            candidates[number] = np.insert(others, place[number], targets.item[row])
        return rows, candidates, place


async def _rank(
    inference: Inference, user: int, candidates: Sequence[int], item: int, memory: str | None
) -> F64:
    """Rank candidates, one with this memory; NaN if there is none."""
    if memory is None:
        return np.full(len(candidates), np.nan)
    return await inference.rank(user, candidates, {item: memory})


async def _learn(
    agents: Agents, asked: Asked, embedder: Embedder, items: I64, popular: I64
) -> Mapping[str, Mapping[int, str | None]]:
    """Let new items learn from popular ones.

    Returns:
        By measure, the memory of each item; None: no usable answer.
    """
    new = np.unique(items).tolist()
    cold = {item: agents.identities[item] for item in new}
    out: dict[str, Mapping[int, str | None]] = {"cold": cold}
    texts = [" ".join(agents.show_item(item, agents.identities[item]).values()) for item in new]
    known = [
        " ".join(agents.show_item(item, agents.identities[item]).values())
        for item in popular.tolist()
    ]
    likeness = await embedder.embed(texts) @ (await embedder.embed(known)).T
    likeness[np.array(new)[:, None] == popular[None]] = np.nan  # no item learns from itself
    order = np.argsort(likeness, axis=1, kind="stable")  # NaN is sorted to the end
    for name, rank in TEACHERS.items():
        usable = len(popular) - np.isnan(likeness).sum(axis=1)
        teachers = popular[order[np.arange(len(new)), rank % usable]].tolist()
        memories = await run_together(
            asked.get(
                learn.build_question(agents.show_item(item, cold[item]), agents.show_item(teacher))
            )
            for item, teacher in zip(new, teachers, strict=True)
        )
        out[name] = dict(zip(new, memories, strict=True))
    return out


def list_popular(history: History) -> I64:
    """List the most popular items, at least two.

    Equal ones are in the order of their rows.
    """
    adopters = count_adopters(history)
    count = max(int(POPULAR_SHARE * len(adopters)), 2)
    return np.argsort(-adopters, kind="stable")[:count]
