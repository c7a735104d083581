"""Spread of a preference: how far does one user's own preference reach?

One user agent begins with a preference that would not arise by itself. Agents interact, and are
asked at three moments whether they have it.

Source:
    AgentCF 4.4.3, Figure 5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64, I64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.agentcf.asked import Asked
from propagation.laboratory.agentcf.estimate import count_calls, estimate_learning
from propagation.laboratory.agentcf.learning.simulation import Simulation
from propagation.laboratory.agentcf.memory import START, Agents
from propagation.laboratory.agentcf.method import list_pairs
from propagation.laboratory.agentcf.prompts import express
from propagation.laboratory.agentcf.prompts.shared import EXPLANATION_CHARS, USER_MEMORY_CHARS
from propagation.laboratory.agentcf.studies.agent_method import get_agent_method, has_agents
from propagation.laboratory.history import History, Targets
from propagation.laboratory.methods import Method
from propagation.laboratory.methods.asking import AskingMethod, Calls
from propagation.laboratory.methods.asking.answers import run_together
from propagation.laboratory.protocols.last_events import check_enough

PREFERENCE = "things that have to do with lighthouses"
CONTROL = "things that have to do with windmills"
"""Another preference of the same kind, which no agent is given."""
SEEDED = f"{START} Above all I look for {PREFERENCE}."
MOMENTS = 3
GROUPS: Mapping[str, tuple[int, ...]] = {"seed": (0,), "near": (1,), "far": (2,)}
"""By name, the distance from the seed user; those who are farther or apart are `others`."""
APART = 3


@dataclass(frozen=True)
class Spread:
    """Asks user agents three times whether they have the seed user's preference."""

    @property
    def measures(self) -> Mapping[str, str]:
        """The header of each measure."""
        said = {"seed": "seed user", "near": "near", "far": "far", "others": "others"}
        return {
            "invalid": "invalid",
            **{
                f"{group}_{moment}": f"{words} ({moment}/{MOMENTS})"
                for group, words in said.items()
                for moment in range(1, MOMENTS + 1)
            },
            "control": "control",
            "all": "all but the seed user",
        }

    @property
    def description(self) -> str:
        """What is asked, in a sentence."""
        return (
            "The agent of the user who shares items with most others begins with a preference of"
            f" its own ({PREFERENCE}). All events run; after each third of them every user agent is"
            " asked whether it has it. Near users share an item with the seed user, and far"
            " ones with a near user. `control` and `all` are at the end, of all but the seed user;"
            f" `control` is for a preference that no agent was given ({CONTROL}). An unusable"
            " answer counts as `invalid`, and as no."
        )

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Return the whole dataset as the history, and each user's last event.

        Nothing is predicted: a target stands for its user.

        Raises:
            InvalidInput: Too few users share an item with another one.
        """
        history = History.of(dataset, np.arange(len(dataset)))
        enough = int((count_near(history) > 0).sum())
        check_enough(dataset, enough, "who share an item with another one")
        last = find_newest(history.user)
        return history, Targets(history.user[last], history.item[last], history.time[last])

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return whether each user has the preference, [T].

        NaN where the user is in another group than the measure's.

        Raises:
            MethodFailed: The method has no agents of both users and items.
        """
        lack = "a preference spreads by agents of users and items, and it lacks some"
        studied = get_agent_method(method, lack, users=True, items=True)
        agents, asked = studied.create_agents(), Asked(studied.ask)
        first = find_seed(history)
        agents.get_user(first).short_term = SEEDED
        distance = measure_distance(history, first)[targets.user]
        users = targets.user.tolist()
        out = {name: np.full(len(users), np.nan) for name in self.measures}
        invalid = np.zeros(len(users))
        simulation = Simulation(studied.variant, agents, asked)
        pairs = list_pairs(history, seed)
        for moment in range(1, MOMENTS + 1):
            start, end = (len(pairs) * part // MOMENTS for part in (moment - 1, moment))
            await simulation.run(pairs[start:end])
            has_it, unusable = await _ask_all(agents, asked, users, PREFERENCE)
            invalid += unusable
            for group in (*GROUPS, "others"):
                inside = np.isin(distance, GROUPS.get(group, (APART,)))
                out[f"{group}_{moment}"][inside] = has_it[inside]
        has_control, unusable = await _ask_all(agents, asked, users, CONTROL)
        rest = distance > 0
        out["control"][rest], out["all"][rest] = has_control[rest], has_it[rest]
        out["invalid"] = (invalid + unusable) / (MOMENTS + 1)
        return out

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`, rather too many than too few."""
        if not has_agents(method):
            return []
        asked = (MOMENTS + 1) * len(targets.user)
        return [
            *estimate_learning(method.variant, len(history.user), 0),
            count_calls(express.PROMPT, asked, USER_MEMORY_CHARS, EXPLANATION_CHARS),
        ]


async def _ask_all(
    agents: Agents, asked: Asked, users: Sequence[int], preference: str
) -> tuple[F64, F64]:
    """Return for each user: has it, and gave no usable answer."""
    said = await run_together(
        asked.get(express.build_question(agents.show_user(user), preference)) for user in users
    )
    has_it = np.array([one is True for one in said], np.float64)
    return has_it, np.array([one is None for one in said], np.float64)


def find_newest(user: I64) -> I64:
    """Find the place of each user's last event, ascending.

    Users with one event have a place, too.
    """
    _, from_end = np.unique(user[::-1], return_index=True)
    return np.sort(len(user) - 1 - from_end)


def count_near(history: History) -> I64:
    """Count for each user the others who share an item, [users]."""
    had = history.list_items_by_user()
    adopters = history.list_users_by_item()
    near = [
        len({other for item in items.tolist() for other in adopters[item]} - {user})
        for user, items in enumerate(had)
    ]
    return np.array(near, np.int64)


def find_seed(history: History) -> int:
    """Find the user who shares items with most others.

    It is the first of equal ones. It does not depend on a run's seed, so that all
    repetitions have the same groups of users.
    """
    return int(np.argmax(count_near(history)))


def measure_distance(history: History, user: int) -> I64:
    """Return each user's distance from one, by shared items, [users].

    One shared item is a distance of 1. APART stands for more than 2, and for no way at all.
    """
    had = history.list_items_by_user()
    distance = np.full(history.users, APART, np.int64)
    distance[user] = 0
    reached = np.zeros(history.items, np.bool_)
    frontier = [user]
    for step in range(1, APART):
        for one in frontier:
            reached[had[one]] = True
        frontier = [
            other
            for other in np.flatnonzero(distance == APART).tolist()
            if reached[had[other]].any()
        ]
        distance[frontier] = step
    return distance
