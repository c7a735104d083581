"""Costs of reasoning: calls, tokens, time and money, by prompt and version."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class PromptCost:
    """Cost of one prompt.

    Attributes:
        calls: Calls that reached a model, retries included.
        cached: Answers that needed no call.
        lost: Parts of answers that were lost, also after they were asked for once more.
        prompt_tokens: As the server counts them.
        completion_tokens: As the server counts them.
        seconds: Time spent waiting for answers.
        money: In the currency of the price list.
        losses: The lost parts by reason (a LossReason), one reason each.
        parts: Parts of answers that were checked, those asked for once more included.
        refused: By reason, how many of these parts, or of their texts and names, were refused.
    """

    calls: int = 0
    cached: int = 0
    lost: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    money: float = 0.0
    losses: Mapping[str, int] = field(default_factory=dict, hash=False)
    parts: int = 0
    refused: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __add__(self, other: "PromptCost") -> "PromptCost":
        return PromptCost(
            self.calls + other.calls,
            self.cached + other.cached,
            self.lost + other.lost,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
            self.money + other.money,
            _add_counts(self.losses, other.losses),
            self.parts + other.parts,
            _add_counts(self.refused, other.refused),
        )


def _add_counts(some: Mapping[str, int], others: Mapping[str, int]) -> Mapping[str, int]:
    return Counter(some) + Counter(others) if some and others else some or others


@dataclass(frozen=True, slots=True)
class Usage:
    """Cost of an answer.

    Attributes:
        by_prompt: Costs by prompt, as `name@version`.
        fallback: Fallback that answered instead of the reasoner; "" if none did.
        unused: Prompts of which no answer was used.
    """

    by_prompt: tuple[tuple[str, PromptCost], ...] = ()
    fallback: str = ""
    unused: frozenset[str] = frozenset()

    def __add__(self, other: "Usage") -> "Usage":
        # Most sums of the offline reasoner have nothing on one side.
        if self is NO_USAGE or other is NO_USAGE:
            return other if self is NO_USAGE else self
        sums = dict(self.by_prompt)
        for prompt, spent in other.by_prompt:
            sums[prompt] = sums[prompt] + spent if prompt in sums else spent
        unused = (self.unused | other.unused).difference(self.prompts, other.prompts)
        return Usage(tuple(sums.items()), self.fallback or other.fallback, unused)

    def __bool__(self) -> bool:
        return bool(self.by_prompt or self.fallback)

    @property
    def prompts(self) -> tuple[str, ...]:
        """Prompts of which answers were used, also answers from the cache."""
        return tuple(
            prompt
            for prompt, spent in self.by_prompt
            if (spent.calls or spent.cached) and prompt not in self.unused
        )

    def with_unused(self, prompt: str) -> "Usage":
        """Return this usage with a prompt of which no answer was used."""
        return replace(self, unused=self.unused | {prompt})

    @property
    def author(self) -> str:
        """Names what wrote the answer: prompts (`extract@2, merge@2`) or the fallback."""
        return f"fallback {self.fallback}" if self.fallback else ", ".join(self.prompts)

    @property
    def total(self) -> PromptCost:
        """The costs of all prompts together."""
        return sum((spent for _, spent in self.by_prompt), PromptCost())


NO_USAGE = Usage()
"""Cost of an answer without a call, e.g. of the offline reasoner."""


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A limit with the amount used in its period.

    Attributes:
        used: The amount used, as far as this process knows.
    """

    name: str
    used: float
    limit: float


@dataclass(frozen=True, slots=True)
class Expenses:
    """Expenses of a reasoner, and its budgets.

    Attributes:
        this_run: Since this process started.
        all_runs: Over all runs on the same data; empty where they are not counted.
    """

    this_run: Usage = NO_USAGE
    all_runs: Usage = NO_USAGE
    budgets: tuple[BudgetState, ...] = ()


NO_EXPENSES = Expenses()
"""Expenses of a reasoner or embedder without a model."""
