"""The offline reasoner: RecNet's prompts answered from structure. Deterministic, no model, microseconds."""

from collections.abc import Mapping, Sequence

from propagation.adapters.offline.credit import gradients_of
from propagation.adapters.offline.describe import catalogue_edits
from propagation.adapters.offline.merge import merged_messages
from propagation.adapters.offline.optimize import optimized
from propagation.adapters.offline.summarize import router_text
from propagation.model.client import Client
from propagation.model.gradient import Gradient
from propagation.model.profile import Edit
from propagation.model.router import RouterVersion
from propagation.model.text import ReasonWork
from propagation.ports.reasoner import MergeAnswer, OptimizeAnswer, Party, Prediction


class OfflineReasoner:
    """See ports/reasoner.py for what each answer means."""

    name = "offline-1"

    def __init__(self, profile_lines: int = 12) -> None:
        """Of a profile's lines a quarter are for what others said, the others for the catalogue's and the client's own."""
        self._heard = max(1, profile_lines // 4)
        self._not_heard = max(1, profile_lines - self._heard)

    async def describe(self, client: Client) -> Sequence[Edit]:
        return catalogue_edits(client)

    async def merge(self, party: Party) -> MergeAnswer:
        return merged_messages(party, self._heard)

    async def predict(self, work: ReasonWork, user: Party, first: Party, second: Party,
                      scores: tuple[float, float] | None) -> Prediction:
        if scores is None:
            scores = (_shared(user, first), _shared(user, second))
        return Prediction(chose_first=scores[0] > scores[1])

    async def assign_credit(self, work: ReasonWork, reward: int, user: Party, positive: Party,
                            negative: Party | None) -> Sequence[Gradient]:
        return gradients_of(work, reward, user, positive, negative)

    async def optimize(self, work: ReasonWork, reward: int | None, party: Party, other: Party,
                       gradients: Sequence[Gradient]) -> OptimizeAnswer:
        return optimized(work, reward, party, other, self._not_heard)

    async def summarize(self, before: RouterVersion | None, router: int, arrived: Mapping[str, int],
                        standing: Mapping[str, float], common: Mapping[str, float],
                        examples: Sequence[str]) -> tuple[str, str]:
        return router_text(router, arrived, standing, common, examples)


def _shared(user: Party, item: Party) -> float:
    return float(len(user.profile.attributes & item.profile.attributes))
