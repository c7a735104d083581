"""The reasoner: RecNet's questions to a language model.

Answers are edits, never whole profiles.

Each method covers all that the workflow asks at one time, so that one call of a model can answer
everything; an adapter may also ask the paper's prompts one by one. If a part of a fused answer is
unusable, a ReasonerFailed takes its place, and the other parts are used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar

from propagation.model import (
    NO_USAGE,
    Client,
    Edit,
    Expenses,
    FilterMemory,
    FilterRule,
    Gradient,
    Profile,
    ReasonerFailed,
    ReasonWork,
    RouterCase,
    RouterDecision,
    RouterVersion,
    Usage,
    value,
)

T = TypeVar("T")
AnswerPart: TypeAlias = T | ReasonerFailed


@value
class Party:
    """One client of an interaction, as reasoning sees it.

    Attributes:
        messages: Messages in the client's buffer, newest first, at most B of them.
        unshared: Ids of an item's lines that rest on too few users. No text of another client may
            be written from these lines.
    """

    client: Client
    profile: Profile
    filter_memory: FilterMemory
    messages: Sequence[RouterVersion] = ()
    unshared: frozenset[int] = frozenset()


@dataclass(frozen=True)
class ExtractAnswer:
    """Catalogue lines of clients' own texts, with their attributes (eq. 1).

    Attributes:
        edits: Edits for each client, in order.
        from_catalogue: Clients (ref) for which the catalogue's own lines stand in, because no line
            of the model was usable.
    """

    edits: Sequence[AnswerPart[Sequence[Edit]]]
    usage: Usage = NO_USAGE
    from_catalogue: frozenset[int] = frozenset()


@value
class MergeAnswer:
    """Messages merged into one profile (eq. 5).

    Attributes:
        edits: Edits of the profile.
        outcomes: By message (router, version): "merged", or why the message was dropped.
    """

    edits: Sequence[Edit] = ()
    outcomes: Mapping[tuple[int, int], str] = field(default_factory=dict)
    usage: Usage = NO_USAGE


@value
class ForwardAnswer:
    """Forward propagation of one interaction (Algorithm 1, lines 6 and 7).

    Attributes:
        merges: Eq. 5 for the user, then each candidate; empty for a client without messages.
        prediction: Eq. 6: whether the user would choose the candidate that was given first; None
            if there was only one candidate.
        predicted_by: Name of the reasoner that predicted in the stead of the one that was asked; ""
            if none did.
    """

    merges: Sequence[AnswerPart[MergeAnswer]]
    prediction: AnswerPart[bool] | None
    usage: Usage = NO_USAGE
    predicted_by: str = ""


@value
class OptimizeAnswer:
    """Optimisation of one client (eq. 9).

    Attributes:
        edits: Edits of the client's profile.
        rules: New or changed rules of the client's filter memory.
    """

    edits: Sequence[Edit]
    rules: Sequence[FilterRule] = ()


@value
class BackwardAnswer:
    """Backward optimisation of one interaction (Algorithm 1, lines 9 and 10).

    Attributes:
        gradients: Eq. 8, one for each module that took part; unusable ones are left out.
        clients: Eq. 9 for each party, in order.
    """

    gradients: Sequence[Gradient]
    clients: Sequence[AnswerPart[OptimizeAnswer]]
    usage: Usage = NO_USAGE


@dataclass(frozen=True)
class Integration:
    """The attributes that a router summarises in a round (eq. 3).

    Attributes:
        before: The router's newest version; None if it has none yet.
        arrived: Attributes of this round, with how many clients brought each.
        standing: Attributes that the router stands for, with their weights.
        common: Mean share (0 to 1) of each attribute over all routers; an attribute with a larger
            share here sets this router apart.
        examples: Titles of items that belong to the router.
    """

    router: int
    before: RouterVersion | None
    arrived: Mapping[str, int]
    standing: Mapping[str, float]
    common: Mapping[str, float]
    examples: Sequence[str]


@dataclass(frozen=True)
class Summary:
    """A router's name and text.

    Attributes:
        name: A proposal, which is changed if another router has that name; for "" the router is
            named by its attributes.
        text: At most 60 words. It is the message that the router multicasts.
        written_by: Mark of the reasoner that wrote both in the stead of the one that was asked, as
            in RouterVersion; "" if none did.
    """

    name: str
    text: str
    written_by: str = ""


@dataclass(frozen=True)
class SummarizeAnswer:
    """A summary for each router, in order."""

    summaries: Sequence[AnswerPart[Summary]]
    usage: Usage = NO_USAGE


@dataclass(frozen=True)
class RankAnswer:
    """A ranking: the places of the candidates, each once, best first."""

    order: Sequence[int]
    usage: Usage = NO_USAGE


class Reasoner(Protocol):
    """Answers the questions of RecNet's prompts.

    An empty answer means that there is nothing to change. Every asking method raises
    ReasonerFailed if there is no usable answer at all, and ReasonerUnavailable if no model
    answers now (the work then waits).
    """

    @property
    def name(self) -> str:
        """Name under which the data remembers this reasoner."""

    @property
    def predictor(self) -> str:
        """Name of the reasoner that predicts choices.

        It is this one's, or that of another one in its stead.
        """

    @property
    def router_writer(self) -> str:
        """Name of the reasoner that writes routers' texts in rounds.

        It is this one's, or that of another one in its stead.
        """

    @property
    def pause_reason(self) -> str:
        """Why the reasoner asks no model at present, as a sentence.

        It is "" if the reasoner does ask one, or needs none.
        """

    @property
    def asks_model(self) -> bool:
        """Whether a model answers, so that an answer may take minutes.

        The numbers do not wait for such a reasoner.
        """

    @property
    def concurrency(self) -> int:
        """Best number of interactions under way at once.

        It is 1 for a reasoner that computes on the event loop.
        """

    @property
    def clients_a_call(self) -> int:
        """Best number of clients that one call describes."""

    @property
    def router_batch_size(self) -> int:
        """Best number of routers in one call.

        It is 1 for a reasoner that computes on the event loop.
        """

    @property
    def expenses(self) -> Expenses:
        """Costs by prompt, and the budgets."""

    def keep_for(self, interactions: int) -> None:
        """Keep room for the next questions of interactions under way.

        Questions of other kinds of work leave them this room (ModelWork). The last count is valid
        until the next one.

        Args:
            interactions: How many are under way, and how many follow those that just ended.
        """

    def stop_within(self, seconds: float) -> None:
        """Start no more calls, and end running ones within `seconds`.

        Asking methods then raise ReasonerStopping.
        """

    async def close(self) -> None:
        """Release connections and store the costs. The graph store is still open."""

    async def extract(self, clients: Sequence[Client]) -> ExtractAnswer:
        """Extract attributes from the clients' own texts (eq. 1).

        Args:
            clients: New or changed clients.
        """

    async def merge(self, party: Party) -> MergeAnswer:
        """Merge the buffered messages of one client outside an interaction (eq. 5)."""

    async def forward(
        self,
        work: ReasonWork,
        user: Party,
        candidates: Sequence[Party],
        scores: tuple[float, float] | None,
    ) -> ForwardAnswer:
        """Merge messages of all parties, and predict the user's choice.

        It is not called if there is only one candidate and no party has messages.

        Args:
            candidates: In an order that does not tell which one is the positive.
            scores: The learner's scores of the candidates, in their order. The offline reasoner
                compares them; a language model ignores them.

        Source: RecNet eq. 5 and 6.
        """

    async def backward(
        self,
        work: ReasonWork,
        reward: int | None,
        user: Party,
        positive: Party,
        negative: Party | None,
    ) -> BackwardAnswer:
        """Assign credit to the modules, and optimise the clients.

        Args:
            reward: 1 if the prediction was right, else 0; None without a negative, and the answer
                then has no gradients.
            user: The user after reception; the other parties likewise.

        Source: RecNet eq. 8 and 9.
        """

    async def summarize(self, routers: Sequence[Integration]) -> SummarizeAnswer:
        """Summarise the attributes of routers as names and messages (eq. 3)."""

    async def rank(self, user: Party, candidates: Sequence[Party]) -> RankAnswer:
        """Rank candidates for a user (RecNet 3.1.3).

        Args:
            candidates: At least two, in an order that tells nothing.
        """

    async def decide_router(self, case: RouterCase) -> RouterDecision:
        """Decide whether to split, merge, rewrite or keep a router.

        Source: RecNet 2.4, eq. 9.
        """
