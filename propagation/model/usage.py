"""What reasoning cost: calls, tokens and time, by prompt and its version."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PromptCost:
    """`calls` that reached a model, retries counted; `cached`: answers that needed none; `lost`:
    parts of answers that were not usable. Tokens as the server counts them; `seconds` of waiting;
    `money` in the price list's currency."""

    calls: int = 0
    cached: int = 0
    lost: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    money: float = 0.0

    def __add__(self, other: "PromptCost") -> "PromptCost":
        return PromptCost(
            self.calls + other.calls,
            self.cached + other.cached,
            self.lost + other.lost,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
            self.money + other.money,
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """By prompt, as `name@version`, what an answer took. `stand_in`: who answered in the reasoner's
    place where it could not; "" where nobody had to."""

    by_prompt: tuple[tuple[str, PromptCost], ...] = ()
    stand_in: str = ""

    def __add__(self, other: "Usage") -> "Usage":
        if not other:
            return self
        if not self:
            return other
        sums = dict(self.by_prompt)
        for prompt, spent in other.by_prompt:
            sums[prompt] = sums[prompt] + spent if prompt in sums else spent
        return Usage(tuple(sums.items()), self.stand_in or other.stand_in)

    def __bool__(self) -> bool:
        return bool(self.by_prompt or self.stand_in)

    @property
    def prompts(self) -> tuple[str, ...]:
        """Those that were asked, or answered from what is kept."""
        return tuple(prompt for prompt, spent in self.by_prompt if spent.calls or spent.cached)

    @property
    def author(self) -> str:
        """Who answered, for what is kept with what was written: the prompts (`extract@2, merge@2`),
        or who stood in; "" where nobody was asked."""
        return f"stand-in {self.stand_in}" if self.stand_in else ", ".join(self.prompts)

    @property
    def total(self) -> PromptCost:
        return sum((spent for _, spent in self.by_prompt), PromptCost())


NO_USAGE = Usage()
"""An answer that took no call: the offline reasoner's."""


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A limit, and what was used of it in its period, as this process knows it."""

    name: str
    used: float
    limit: float


@dataclass(frozen=True, slots=True)
class Expenses:
    """What a reasoner spent since this process began and, where it is known, in all; and its
    budgets."""

    this_run: Usage = NO_USAGE
    all_runs: Usage = NO_USAGE
    budgets: tuple[BudgetState, ...] = ()


NO_EXPENSES = Expenses()
"""Of what asks no model."""
