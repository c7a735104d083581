"""Settings of the workflow, with the defaults of docs/design.md."""

from typing import Literal

from pydantic import Field

from propagation.model import Term


class BankSettings(Term):
    """The size of a router bank."""

    k: int = Field(80, ge=2, le=4096)


class WorkflowSettings(Term):
    """Sizes and limits of the loop.

    An evolution is judged on the last `holdout` interactions. It changes at most `evolve_most`
    routers, of those with `evolve_support` gradients, and splits none once there are
    `evolve_k_most` taste routers (None: twice `taste.k`, or 16 more if that is more). With
    `evolve_every_rounds` it runs before every n-th round.
    """

    policy: str = "adoption"
    seed: int = Field(7, ge=0)
    lease_seconds: float = Field(10.0, ge=1, le=300)
    session: BankSettings = BankSettings()
    taste: BankSettings = BankSettings()
    bootstrap_items: int = Field(500, ge=1)
    update_size: int | None = Field(None, ge=1)
    round_interval: float = Field(60.0, gt=0)
    table_edges: int = Field(8, ge=1, le=64)
    score_step: float = Field(0.05, ge=0)
    buffer: int = Field(8, ge=1, le=64)
    profile_lines: int = Field(12, ge=1, le=64)
    reason_attempts: int = Field(3, ge=1, le=10)
    reason_backoff: float = Field(0.2, ge=0)
    min_support: int = Field(2, ge=1)
    attribute_cosine: float = Field(0.92, gt=0, le=1)
    tau: float | None = Field(None, ge=-1, le=1)
    centres: Literal["items", "attributes"] = "items"
    user_mass_per_day: float = Field(0.0, ge=0)
    mass_min_support: int = Field(1, ge=1, le=1_000_000)
    holdout: int = Field(2_000, ge=1)
    evolve_most: int = Field(8, ge=1, le=64)
    evolve_support: int = Field(30, ge=1)
    evolve_k_most: int | None = Field(None, ge=1, le=8_192)
    evolve_every_rounds: int | None = Field(None, ge=1)
    propagate: bool = True
    auto_create: bool = False

    @property
    def limits(self) -> tuple[float, float]:
        """Return (`mass_min_support`, `user_mass_per_day`) as in State.limits."""
        return float(self.mass_min_support), self.user_mass_per_day

    @property
    def k_most(self) -> int:
        """Return the most taste routers that evolution makes."""
        return self.evolve_k_most or max(2 * self.taste.k, self.taste.k + 16)

    def update_size_for(self, clients: int) -> int:
        """Return how many changed clients make a round.

        By default, it is 1% of all clients and at least 60.
        """
        return self.update_size or max(60, int(0.01 * clients))
