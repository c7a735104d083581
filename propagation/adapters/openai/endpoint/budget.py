"""Budgets and costs of reasoning, shared by all processes on one graph.

A process takes its budgets from the graph in grants of a twentieth of the limit, under a lease. So
most calls need no look at the graph. When the process ends, it gives back the unused part of its
grants. The grant of a killed process counts as spent.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from propagation.adapters.openai.options import OpenAIOptions, Period
from propagation.model import (
    NO_USAGE,
    BudgetState,
    Expenses,
    LeaseLost,
    PromptCost,
    ReasonerUnavailable,
    Usage,
)
from propagation.ports import GraphStore, Lease

PLACE, LEASE, LEASE_MS = "llm_spending", "llm_spending", 5_000
GRANTS = 20
SAVE_SECONDS = 0.5
WAITS, WAIT_SECONDS = 250, 0.02
KEPT_KEYS = 2
KEYS: Mapping[Period, str] = {
    "hour": "hour %Y-%m-%dT%H",
    "day": "day %Y-%m-%d",
    "month": "month %Y-%m",
    "run": "run",
}
"""Names of periods in the ledger: strftime formats of the current time."""
RENEWALS: Mapping[Period, str] = {
    "hour": "%H:00 UTC",
    "day": "midnight UTC",
    "month": "the next month",
    "run": "another run",
}
"""Times of a budget's renewal: strftime formats of one hour from now."""


@dataclass
class BudgetGrant:
    """This process' grant of one budget in one period.

    Attributes:
        name: The budget's name in the settings, such as tokens_per_day.
        unit: "tokens" or "money".
        limit: The most that all processes may spend in a period; of a run, this process alone.
        key: The period's name in the ledger; "" before the first grant.
        left: How much of the grant may still be spent.
        used: How much was granted in this period, to all processes, at the last look at the graph.
    """

    name: str
    period: Period
    unit: str
    limit: float
    key: str = ""
    left: float = 0.0
    used: float = 0.0


class BudgetLedger:
    """The budgets, and the sums spent by prompt.

    Args:
        holder: Names this process.
        now: The wall clock in UTC.
    """

    def __init__(
        self,
        store: GraphStore,
        options: OpenAIOptions,
        holder: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._options = options
        self._holder = f"{holder}:spending"
        self._now = now
        self._grants = [
            BudgetGrant(name, name.rsplit("_", 1)[1], name.split("_")[0], limit)  # type: ignore[arg-type]  # the settings have no other names
            for name, limit in options.budget
            if limit is not None
        ]
        self._lock = asyncio.Lock()
        self._unsaved: Usage = NO_USAGE
        self._saved_at = 0.0
        self.this_run: Usage = NO_USAGE
        self.earlier: Usage = NO_USAGE

    @property
    def expenses(self) -> Expenses:
        """The spending that this process knows of.

        Spending of other processes since this one's last look at the graph is missing.
        """
        return Expenses(
            self.this_run,
            self.earlier + self._unsaved,
            tuple(
                BudgetState(grant.name, grant.used - grant.left, grant.limit)
                for grant in self._grants
            ),
        )

    def money(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of so many tokens."""
        return (
            prompt_tokens * self._options.price_prompt
            + completion_tokens * self._options.price_completion
        ) / 1_000_000

    async def reserve(self, prompt_tokens: int, completion_tokens: int) -> Mapping[str, float]:
        """Set aside the most that a call may cost, until `settle`.

        Returns:
            The reservation by unit ("tokens" and "money"), for `settle`.

        Raises:
            ReasonerUnavailable: A limit is reached.
        """
        need = {
            "tokens": float(prompt_tokens + completion_tokens),
            "money": self.money(prompt_tokens, completion_tokens),
        }
        async with self._lock:
            for grant in self._grants:
                key = self._now().strftime(KEYS[grant.period])
                if grant.key != key:
                    grant.key, grant.left, grant.used = key, 0.0, 0.0
                if grant.left < need[grant.unit]:
                    await self._extend(grant, need[grant.unit])
            for grant in self._grants:
                grant.left -= need[grant.unit]
        return need

    def settle(self, label: str, reserved: Mapping[str, float], spent: PromptCost) -> Usage:
        """Count the cost of a call, and free its unused reservation."""
        used = {
            "tokens": float(spent.prompt_tokens + spent.completion_tokens),
            "money": spent.money,
        }
        for grant in self._grants:
            grant.left += reserved[grant.unit] - used[grant.unit]
        return self.note(Usage(((label, spent),)))

    def note(self, usage: Usage) -> Usage:
        """Add a usage to the sums of this process, and return it."""
        self.this_run += usage
        self._unsaved += usage
        return usage

    async def save(self, *, closing: bool = False) -> None:
        """Add this process' sums to those in the graph.

        The sums are added at most every SAVE_SECONDS. A killed process loses those not added yet.

        Args:
            closing: Add the sums in any case, and give back unspent grants.
        """
        if not closing and (not self._unsaved or time.monotonic() - self._saved_at < SAVE_SECONDS):
            return
        async with self._lock:
            if not (self._unsaved or (closing and self._grants)):
                return
            self._saved_at = time.monotonic()
            lease, ledger = await self._lock_ledger()
            costs = ((label, PromptCost(**cost)) for label, cost in ledger["prompts"].items())
            before, usage = self.earlier, self._unsaved
            self.earlier, self._unsaved = Usage(tuple(costs)) + usage, NO_USAGE
            ledger["prompts"] = dict(self.earlier.by_prompt)
            returned = [
                grant for grant in self._grants if closing and grant.period != "run" and grant.key
            ]
            for grant in returned:
                granted = ledger["periods"].setdefault(grant.key, {})
                granted[grant.unit] = max(granted.get(grant.unit, 0.0) - grant.left, 0.0)
            try:
                await self._write_ledger(lease, ledger)
            except BaseException:
                self.earlier, self._unsaved = before, usage + self._unsaved
                raise
            for grant in returned:
                grant.left = 0.0

    async def _extend(self, grant: BudgetGrant, need: float) -> None:
        wish = max(need - grant.left, grant.limit / GRANTS)
        if grant.period == "run":
            granted = min(wish, grant.limit - grant.used)
        else:
            lease, ledger = await self._lock_ledger()
            period = ledger["periods"].setdefault(grant.key, {})
            grant.used = period.get(grant.unit, 0.0)
            granted = max(min(wish, grant.limit - grant.used), 0.0)
            period[grant.unit] = grant.used + granted
            for old in [key for key in sorted(ledger["periods"]) if key.split()[0] == grant.period][
                :-KEPT_KEYS
            ]:
                del ledger["periods"][old]
            await self._write_ledger(lease, ledger)
        grant.used += granted
        grant.left += granted
        if grant.left < need:
            renewed = (self._now() + timedelta(hours=1)).strftime(RENEWALS[grant.period])
            raise ReasonerUnavailable(
                f"the budget {grant.name} of {grant.limit:g} has {max(grant.left, 0):g} left"
                f" and this call may take {need:g}: raise openai.budget.{grant.name}, or wait"
                f" for {renewed}"
            )

    async def _lock_ledger(self) -> tuple[Lease, dict[str, Any]]:
        for _ in range(WAITS):
            lease = await self._store.acquire_lease(LEASE, self._holder, LEASE_MS)
            if lease is not None:
                blob = await self._store.get_blob(PLACE)
                return lease, orjson.loads(blob or b'{"periods": {}, "prompts": {}}')
            await asyncio.sleep(WAIT_SECONDS)
        raise ReasonerUnavailable(
            "another process holds the ledger of budgets; the call will be repeated"
        )

    async def _write_ledger(self, lease: Lease, ledger: Mapping[str, Any]) -> None:
        """Write the ledger, and release its lease.

        Raises:
            ReasonerUnavailable: The lease was lost.
        """
        try:
            await self._store.put_blob(PLACE, orjson.dumps(ledger), lease)
            await self._store.release_lease(lease)
        except LeaseLost as error:
            raise ReasonerUnavailable(
                "another process took over the ledger of budgets; the call will be repeated"
            ) from error
