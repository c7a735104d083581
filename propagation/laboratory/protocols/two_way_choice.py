"""Right choices of two before and after reflection, step by step.

Source:
    AgentCF 4.3.3 (effectiveness of collaborative reflection).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from propagation.arrays import F64
from propagation.datasets.dataset import Dataset
from propagation.evaluation.protocols.passes import find_last
from propagation.laboratory.history import History, Targets
from propagation.laboratory.methods import Method, MethodFailed
from propagation.laboratory.methods.asking import AskingMethod, Calls
from propagation.laboratory.methods.two_way import TwoWayMethod
from propagation.laboratory.protocols.last_events import check_enough


@dataclass(frozen=True)
class TwoWayChoice:
    """Lets each user agent make its last interactions, which optimize it.

    Attributes:
        steps: How many interactions of each user.
    """

    steps: int = 3

    @property
    def measures(self) -> Mapping[str, str]:
        """The header of each measure."""
        steps = range(1, self.steps + 1)
        return {
            "invalid": "invalid",
            **{f"before_{step}": f"step {step} before" for step in steps},
            **{f"after_{step}": f"step {step} after" for step in steps},
        }

    @property
    def description(self) -> str:
        """What is chosen, in a sentence."""
        return (
            f"Each user's last {self.steps} events are chosen one after the other, each against a"
            " popular item that is shown first; agents have learned nothing before. `before` is"
            " the share right at the first choice of a step, `after` at one more choice of all"
            " users when the step has ended. An unusable answer counts as `invalid`, and as not"
            " right."
        )

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Return the whole dataset as the history, and each user's last event.

        Users with fewer events than steps have no target.

        Raises:
            InvalidInput: Too few users have so many events.
        """
        user, item, time = dataset.rows()
        users = len(dataset.users)
        last = find_last(user, users) & (np.bincount(user, minlength=users)[user] >= self.steps)
        check_enough(dataset, int(last.sum()), f"with {self.steps} events or more")
        return (
            History.of(dataset, np.arange(len(user))),
            Targets(user[last], item[last], time[last]),
        )

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return whether each user chose rightly before and after each step, [T].

        Raises:
            MethodFailed: The method makes no choices.
        """
        if not _chooses(method):
            raise MethodFailed(
                f"{method.name}: it makes no choices that teach it; leave it out of --methods"
            )
        choices = await method.choose_steps(history, self.steps, seed)
        out = {"invalid": choices.invalid[targets.user].mean(axis=1)}
        for step in range(self.steps):
            out[f"before_{step + 1}"] = choices.before[targets.user, step]
            out[f"after_{step + 1}"] = choices.after[targets.user, step]
        return out

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`."""
        return method.estimate_steps(history, self.steps) if _chooses(method) else []


def _chooses(method: Method) -> TypeGuard[TwoWayMethod]:
    return hasattr(method, "choose_steps")
