"""Settings of the workflow, with the defaults of docs/design.md."""

from typing import Literal

from pydantic import Field

from propagation.model import FactorSettings, Term, join_names


class BankSettings(Term):
    """The size of a router bank."""

    k: int = Field(
        80,
        ge=2,
        le=4096,
        description="How many routers the bank has; to change it, run `propagation init`.",
    )


class RankerSettings(Term):
    """What the ranker learns beside the routers.

    To change it, run `propagation init`.
    """

    history_factor: int = Field(
        64,
        ge=0,
        le=256,
        description="Length of the vectors of the history factor; 0: it is off.",
    )
    replays: int = Field(
        8,
        ge=0,
        le=64,
        description="Old choices that the history factor learns again with each new one.",
    )
    taste_vector: int = Field(
        32,
        ge=0,
        le=256,
        description="Length of the users' taste vectors; 0: there are none.",
    )
    taste_steps: int = Field(
        60,
        ge=0,
        le=1_000,
        description="Steps by which taste vectors learn with each new choice.",
    )
    knn_by_seconds: bool = Field(
        True,
        description=(
            "Whether the fast item-kNN counts a choice less the longer ago it was; if not, only "
            "the order counts."
        ),
    )

    @property
    def factors(self) -> FactorSettings:
        """Return these settings as the numbers take them.

        Half of the replays are of the newest choices, and a third of the steps on the user's own.
        """
        recent, own = self.replays // 2, self.taste_steps // 3
        return FactorSettings(
            self.history_factor,
            self.taste_vector,
            self.replays - recent,
            recent,
            self.taste_steps - own,
            own,
            self.knn_by_seconds,
        )

    @property
    def in_words(self) -> str:
        """Return what is learned, in words; "nothing" if all is off."""
        parts = [
            f"a history factor of {self.history_factor} numbers with {self.replays} replays"
            if self.history_factor
            else "",
            f"taste vectors of {self.taste_vector} numbers with {self.taste_steps} steps"
            if self.taste_vector
            else "",
            "a kNN by seconds" if self.knn_by_seconds else "",
        ]
        return join_names([part for part in parts if part]) or "nothing"


class WorkflowSettings(Term):
    """Sizes and limits of the loop."""

    policy: str = Field(
        "adoption",
        description=(
            "How preferences find routers and readers: by who chooses what (adoption), or by how "
            "alike texts are (semantic)."
        ),
    )
    seed: int = Field(
        7,
        ge=0,
        description="Number that random draws start from; to change it, run `propagation init`.",
    )
    lease_seconds: float = Field(
        10.0,
        ge=1,
        le=300,
        description="Seconds after which others may take over the work of a process that died.",
    )
    session: BankSettings = BankSettings()
    taste: BankSettings = BankSettings()
    ranker: RankerSettings = RankerSettings()
    bootstrap_items: int = Field(
        500,
        ge=1,
        description="The routers are built from the catalogue once this many items have text.",
    )
    update_size: int | None = Field(
        None,
        ge=1,
        description=(
            "A round runs once this many clients have changed; none: 1% of all clients, at least "
            "60."
        ),
    )
    round_interval: float = Field(
        60.0,
        gt=0,
        description=(
            "Seconds after which a round runs in any case, or as many as the last one took, if "
            "that is longer."
        ),
    )
    table_edges: int = Field(
        8,
        ge=1,
        le=64,
        description=(
            "The most routers that send messages to one client under the policy `adoption`."
        ),
    )
    score_step: float = Field(
        0.05,
        ge=0,
        description=(
            "A client's score at a router is written again only if it moved by more than this."
        ),
    )
    buffer: int = Field(
        8,
        ge=1,
        le=64,
        description=(
            "How many messages may wait for a client, the newest first; unset with a language "
            "model: 3."
        ),
    )
    filter_memory: bool = Field(
        True,
        description=(
            "Keep the filter rules that reasoning writes for clients; if off, messages are neither "
            "refused nor ordered by rules."
        ),
    )
    profile_lines: int = Field(
        12, ge=1, le=64, description="The most lines that a profile may have."
    )
    reason_attempts: int = Field(
        3,
        ge=1,
        le=10,
        description=(
            "How often to try to write the texts of an interaction before it becomes a dead letter."
        ),
    )
    reason_backoff: float = Field(
        0.2,
        ge=0,
        description=(
            "Seconds before the texts of an interaction are tried a second time; each later pause "
            "is twice as long."
        ),
    )
    min_support: int = Field(
        2,
        ge=1,
        description=(
            "How many different users must be behind something before the texts of others may "
            "use it."
        ),
    )
    attribute_cosine: float = Field(
        0.92,
        gt=0,
        le=1,
        description=(
            "Two attributes count as the same if they are at least this much alike (1: equal)."
        ),
    )
    tau: float | None = Field(
        None,
        ge=-1,
        le=1,
        description=(
            "Under the policy `semantic`, a message goes to clients whose cosine with the router "
            "is above this; none: measured, so that about a tenth are above it."
        ),
    )
    centres: Literal["items", "attributes"] = Field(
        "items",
        description=(
            "What the first taste routers are built from: the items' texts, or the attributes of "
            "all clients."
        ),
    )
    user_mass_per_day: float = Field(
        0.0,
        ge=0,
        description=(
            "The most that one user may add to the numbers of a bank in a UTC day, where a plain "
            "event adds 1; 0: no limit."
        ),
    )
    mass_min_support: int = Field(
        1,
        ge=1,
        le=1_000_000,
        description=(
            "How many different users must have chosen an item before routers count in its ranking."
        ),
    )
    holdout: int = Field(
        2_000, ge=1, description="An evolution is judged on this many of the newest interactions."
    )
    evolve_most: int = Field(
        8, ge=1, le=64, description="The most routers that one evolution changes."
    )
    evolve_support: int = Field(
        30,
        ge=1,
        description=(
            "How many suggestions for change a router needs before evolution looks at it, unless "
            "there are too many routers."
        ),
    )
    evolve_k_most: int | None = Field(
        None,
        ge=1,
        le=8_192,
        description=(
            "Routers are no longer split once there are this many taste routers; none: twice "
            "`taste.k`, or `taste.k` + 16 if that is more."
        ),
    )
    evolve_every_rounds: int | None = Field(
        None,
        ge=1,
        description=(
            "Evolution also runs before every n-th round; none: only by the calendar or on command."
        ),
    )
    propagate: bool = Field(
        True,
        description=(
            "Pass preferences on between clients; if off, events are still recorded and learned "
            "from."
        ),
    )
    auto_create: bool = Field(
        False,
        description=(
            "Create the users and items that an event names for the first time, instead of "
            "refusing it."
        ),
    )

    @property
    def limits(self) -> tuple[float, float]:
        """Return (`mass_min_support`, `user_mass_per_day`) as in State.limits."""
        return float(self.mass_min_support), self.user_mass_per_day

    @property
    def k_most(self) -> int:
        """Return the largest number of taste routers that evolution makes."""
        return self.evolve_k_most or max(2 * self.taste.k, self.taste.k + 16)

    def update_size_for(self, clients: int) -> int:
        """Return how many changed clients make a round due.

        Without the setting `update_size`, it is 1% of all clients and at least 60.

        Args:
            clients: How many clients there are.
        """
        return self.update_size or max(60, int(0.01 * clients))
