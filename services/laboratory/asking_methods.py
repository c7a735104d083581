"""Builds the methods that ask a language model."""

import re
from collections.abc import Callable

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.datasets.dataset import Dataset
from propagation.laboratory.agentcf import AgentCF, list_variants
from propagation.laboratory.methods import Method
from propagation.laboratory.methods.afl import (
    Agents,
    FeedbackLoop,
    RankedList,
    RecommendationAgent,
    UserAgent,
    UserRanker,
)
from propagation.laboratory.methods.afl.feedback_loop import ITERATIONS
from propagation.laboratory.methods.asking.shown_items import ShownItems
from propagation.laboratory.methods.llmrank import LLMRank
from propagation.laboratory.methods.wrappers.item_scores import ItemScorer, share_scores
from services.client.errors import UsageProblem
from services.laboratory.model import LabModel

NONE, JOINT = "none", "+"
AGENTS = re.compile(rf"(rec|user|user-rank|rec-rank|rec-user|afl[1-{ITERATIONS}]?)\((.*)\)")
FORMS = (
    "llmrank",
    *list_variants(),
    "rec(BASE)",
    "user(REWARD)",
    "user-rank(REWARD)",
    "afl(BASE)",
    "afl(BASE+REWARD)",
    "rec-rank(BASE+REWARD)",
    "rec-user(BASE+REWARD)",
    f"afl1(...) to afl{ITERATIONS}(...)",
)


def asks_model(name: str) -> bool:
    """Return whether a method of this name asks a model."""
    return name in ("llmrank", *list_variants()) or AGENTS.fullmatch(name) is not None


class AskingMethods:
    """Builds methods around one model.

    Args:
        build_base: Builds a method with scores by its name.

    Raises:
        InvalidInput: The items have no titles.
    """

    def __init__(
        self, dataset: Dataset, model: LabModel, build_base: Callable[[str], Method]
    ) -> None:
        self._dataset = dataset
        self._items = ShownItems(dataset)
        self._model = model
        self._build_base = build_base
        self._scorers: dict[str, ItemScorer] = {}

    def build(self, name: str) -> Method:
        """Build a method.

        Raises:
            UsageProblem: A method inside is not known, or has no scores.
        """
        if name in list_variants():
            return AgentCF(
                name,
                list_variants()[name],
                self._dataset,
                self._model.ask_for(name),
                self._model.identity,
                HashedEmbedder(),
            )
        if name == "llmrank":
            return LLMRank(self._model.ask_for(name), self._model.identity, self._items)
        kind, inside = AGENTS.fullmatch(name).groups()  # type: ignore[union-attr]  # asks_model
        if kind.startswith("afl") or kind in ("rec-rank", "rec-user"):
            base, joint, reward = inside.partition(JOINT)
            return self._build_pair(kind, base, reward if joint else base)
        scorer = self._find_scorer(name, inside)
        if kind == "rec":
            shown = f"rec({self._name(scorer)})"
            return RecommendationAgent(shown, self._build_agents(shown, scorer, None))
        shown = f"{kind}({self._name(scorer)})"
        agents = self._build_agents(shown, None, scorer)
        return UserAgent(shown, agents) if kind == "user" else UserRanker(shown, agents)

    def build_plain(self, name: str) -> Method:
        """Build a method that asks no model.

        If agents are around it, it learns once for all of them. Build those first.
        """
        scorer = self._scorers.get(name)
        return share_scores(scorer) if scorer else self._build_base(name)

    def _build_pair(self, kind: str, base: str, reward: str) -> Method:
        """Build a method with a recommendation model and a reward model."""
        name = f"{kind}({base}{JOINT}{reward})"
        if kind == "rec-rank" and reward == NONE:
            raise UsageProblem(f"--methods: {name}: its ranker is a method with scores; name one")
        if kind == f"afl{ITERATIONS}":
            kind = "afl"
        scorers = self._find_scorer(name, base), self._find_scorer(name, reward)
        names = [self._name(scorer) for scorer in scorers]
        # One name in results for one method: afl(ease+ease) is afl(ease), but for afl(none+none).
        both = names[0] == names[1] != NONE
        shown = f"{kind}({names[0]})" if both else f"{kind}({JOINT.join(names)})"
        agents = self._build_agents(shown, *scorers)
        if kind in ("rec-rank", "rec-user"):
            return RankedList(shown, agents, by_user=kind == "rec-user")
        return FeedbackLoop(shown, agents, int(kind.removeprefix("afl") or ITERATIONS))

    def _build_agents(
        self, name: str, base: ItemScorer | None, reward: ItemScorer | None
    ) -> Agents:
        return Agents(self._model.ask_for(name), self._model.identity, self._items, base, reward)

    def _find_scorer(self, name: str, inside: str) -> ItemScorer | None:
        if inside == NONE:
            return None
        if asks_model(inside):
            raise UsageProblem(
                f"--methods: {name}: {inside} has no scores; give a method that asks no model, or"
                f" {NONE}"
            )
        if inside not in self._scorers:
            self._scorers[inside] = ItemScorer(self._build_base(inside))
        return self._scorers[inside]

    def _name(self, scorer: ItemScorer | None) -> str:
        return NONE if scorer is None else scorer.method.name
