"""The reasoner: what RecNet asks a language model. Answers are edits, never whole profiles.

The methods are what the workflow asks at one time, so that a language model can answer each in one
call; whether it does, or asks the paper's prompts one by one, is the adapter's affair. A **part**
of a fused answer that is not usable is a ReasonerFailed in its place, and the other parts stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar

from propagation.model.base import value
from propagation.model.clients.client import Client
from propagation.model.clients.filter_memory import FilterMemory, FilterRule
from propagation.model.clients.gradient import Gradient
from propagation.model.clients.profile import Edit, Profile
from propagation.model.errors import ReasonerFailed
from propagation.model.interactions.reasoning import ReasonWork
from propagation.model.routers.router import RouterVersion
from propagation.model.routers.router_case import RouterCase, RouterDecision
from propagation.model.usage import NO_USAGE, Expenses, Usage

T = TypeVar("T")
AnswerPart: TypeAlias = T | ReasonerFailed


@value
class Party:
    """One of the three clients of an interaction, as reasoning sees it: `messages` are those in its
    buffer, already bounded and ordered, newest first."""

    client: Client
    profile: Profile
    filter_memory: FilterMemory
    messages: Sequence[RouterVersion] = ()


@dataclass(frozen=True)
class ExtractAnswer:
    """For each client, in order: its own text as catalogue lines with their attributes (eq. 1)."""

    edits: Sequence[AnswerPart[Sequence[Edit]]]
    usage: Usage = NO_USAGE


@value
class MergeAnswer:
    """Edits of the profile (eq. 5), and per message (router, version) whether it was merged or
    dropped, and by what."""

    edits: Sequence[Edit]
    outcomes: Mapping[tuple[int, int], str] = field(default_factory=dict)
    usage: Usage = NO_USAGE


@value
class Prediction:
    """Which of the two the user would choose (eq. 6): True for the first candidate shown."""

    chose_first: bool
    explanation: str = ""


@value
class ForwardAnswer:
    """Sample-based forward propagation (Algorithm 1, lines 6 and 7): eq. 5 for the user and each
    candidate, in order, and eq. 6 (None where there was but one candidate). A client without
    messages has an empty merge."""

    merges: Sequence[AnswerPart[MergeAnswer]]
    prediction: AnswerPart[Prediction] | None
    usage: Usage = NO_USAGE


@value
class OptimizeAnswer:
    """Eq. 9 for one client: edits of its profile, rules of its filter memory."""

    edits: Sequence[Edit]
    rules: Sequence[FilterRule] = ()


@value
class BackwardAnswer:
    """Sample-based backward optimisation (Algorithm 1, lines 9 and 10): eq. 8, one gradient for
    each module that took part (those that were not usable are left out), and eq. 9 for each party
    in order."""

    gradients: Sequence[Gradient]
    clients: Sequence[AnswerPart[OptimizeAnswer]]
    usage: Usage = NO_USAGE


@dataclass(frozen=True)
class Integration:
    """What eq. 3 asks of one router: attributes that `arrived` (with how many clients brought
    them), those `standing` (with their weight), how `common` each attribute is among all routers
    (mean shares, 0..1: what exceeds them sets this router apart), and titles of items it holds."""

    router: int
    before: RouterVersion | None
    arrived: Mapping[str, int]
    standing: Mapping[str, float]
    common: Mapping[str, float]
    examples: Sequence[str]


@dataclass(frozen=True)
class Summary:
    """A router's name and its text of at most 60 words (eq. 3): also the message it multicasts."""

    name: str
    text: str


@dataclass(frozen=True)
class SummarizeAnswer:
    """For each router, in order."""

    summaries: Sequence[AnswerPart[Summary]]
    usage: Usage = NO_USAGE


@dataclass(frozen=True)
class RankAnswer:
    """Places of the candidates, each once, best first."""

    order: Sequence[int]
    usage: Usage = NO_USAGE


class Reasoner(Protocol):
    """Every method raises ReasonerFailed where there is no usable answer at all,
    ReasonerUnavailable where nobody answers now (the work waits then); an empty answer means
    "nothing to say"."""

    @property
    def name(self) -> str: ...

    @property
    def pause_reason(self) -> str:
        """Why it asks nobody at present, in words, though it has work; "" where it does."""

    @property
    def concurrency(self) -> int:
        """How many interactions are best under way at once; 1 where reasoning computes on this
        loop."""

    @property
    def router_batch_size(self) -> int:
        """How many routers to hand over at once; 1 where reasoning computes on this loop."""

    @property
    def expenses(self) -> Expenses:
        """What was spent, by prompt, and what the budgets are."""

    def stop_within(self, seconds: float) -> None:
        """The service stops: nothing more is asked, what is under way has so many seconds. Both
        raise ReasonerStopping then."""

    async def close(self) -> None:
        """Let go of connections, and write down what was spent; nothing is asked afterwards. The
        graph is still open."""

    async def extract(self, clients: Sequence[Client]) -> ExtractAnswer:
        """Prompt_extract, eq. 1: new or changed clients' own texts."""

    async def merge(self, party: Party) -> MergeAnswer:
        """Prompt_merge, eq. 5, outside an interaction."""

    async def forward(
        self,
        work: ReasonWork,
        user: Party,
        candidates: Sequence[Party],
        scores: tuple[float, float] | None,
    ) -> ForwardAnswer:
        """Prompt_merge for all, and Prompt_predict (eq. 5, 6). Never told which candidate is the
        positive one. `scores` are the learner's, in the order of the candidates: the offline
        reasoner compares them; a language model ignores them. Without messages and with one
        candidate there is nothing to ask."""

    async def backward(
        self,
        work: ReasonWork,
        reward: int | None,
        user: Party,
        positive: Party,
        negative: Party | None,
    ) -> BackwardAnswer:
        """Prompt_gradient and Prompt_optimizer (eq. 8, 9) for the parties after reception. Without
        a reward (there was no negative) there are no gradients."""

    async def summarize(self, routers: Sequence[Integration]) -> SummarizeAnswer:
        """Prompt_summarize, eq. 3."""

    async def rank(self, user: Party, candidates: Sequence[Party]) -> RankAnswer:
        """The model as a ranker (3.1.3): candidates in an order that says nothing."""

    async def decide_router(self, case: RouterCase) -> RouterDecision:
        """Prompt_optimizer, eq. 9, for a router: split, merged, rewritten or left as it is, from
        the gradients that its readers gave; with the texts that it (or its halves) would have."""
