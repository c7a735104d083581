"""The reasoner: what RecNet asks a language model. Answers are edits, never whole profiles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from propagation.model.client import Client
from propagation.model.filter_memory import FilterMemory, FilterRule
from propagation.model.gradient import Gradient
from propagation.model.profile import Edit, Profile
from propagation.model.router import RouterVersion
from propagation.model.text import ReasonWork


@dataclass(frozen=True)
class Party:
    """One of the three clients of an interaction, as reasoning sees it: `messages` are those in its buffer,
    already bounded and ordered, newest first."""

    client: Client
    profile: Profile
    filter_memory: FilterMemory
    messages: Sequence[RouterVersion] = ()


@dataclass(frozen=True)
class MergeAnswer:
    """Edits of the profile (eq. 5), and per message (router, version) whether it was merged or dropped, and by what."""

    edits: Sequence[Edit]
    outcomes: Mapping[tuple[int, int], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Prediction:
    """Which of the two the user would choose (eq. 6): True for the first candidate shown."""

    chose_first: bool
    explanation: str = ""


@dataclass(frozen=True)
class OptimizeAnswer:
    """Eq. 9 for one client: edits of its profile, rules of its filter memory."""

    edits: Sequence[Edit]
    rules: Sequence[FilterRule] = ()


class Reasoner(Protocol):
    """Every method raises ReasonerFailed where there is no usable answer; an empty answer means "nothing to say"."""

    @property
    def name(self) -> str: ...

    async def describe(self, client: Client) -> Sequence[Edit]:
        """A new or changed client's own text as catalogue lines."""

    async def merge(self, party: Party) -> MergeAnswer:
        """Prompt_merge, eq. 5."""

    async def predict(self, work: ReasonWork, user: Party, first: Party, second: Party,
                      scores: tuple[float, float] | None) -> Prediction:
        """Prompt_predict, eq. 6. Never told which candidate is the positive one. `scores` are the learner's, in the
        order of the candidates: the offline reasoner compares them; a language model ignores them."""

    async def assign_credit(self, work: ReasonWork, reward: int, user: Party, positive: Party,
                            negative: Party | None) -> Sequence[Gradient]:
        """Prompt_gradient, eq. 8: one for each module that took part."""

    async def optimize(self, work: ReasonWork, reward: int | None, party: Party, other: Party,
                       gradients: Sequence[Gradient]) -> OptimizeAnswer:
        """Prompt_optimizer, eq. 9, for one client after it met `other` (the user: the positive item; an item: the user)."""

    async def summarize(self, before: RouterVersion | None, router: int, arrived: Mapping[str, int],
                        standing: Mapping[str, float], common: Mapping[str, float],
                        examples: Sequence[str]) -> tuple[str, str]:
        """Prompt_summarize, eq. 3: the router's (name, text) from attributes that arrived (with how many clients
        brought them), those that stand (with their weight), how common each attribute is among all routers (mean
        shares, 0..1: what exceeds them sets this router apart), and titles of items it holds."""
