"""What can be told about the endpoint. The key is not among it: it comes from the environment and
is never printed."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from propagation.model.base import Term

Period = Literal["hour", "day", "month", "run"]


def _is_address(value: str) -> str:
    """Raises ValueError where no server can be there."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError("base_url is no address of a server: give one as http://127.0.0.1:8080/v1")
    return value


Address = Annotated[str, AfterValidator(_is_address)]


class BudgetOptions(Term):
    """Limits of what may be spent in a period (of UTC); None: no limit. `run`: from the start of
    this process."""

    tokens_per_hour: int | None = Field(None, ge=1)
    tokens_per_day: int | None = Field(None, ge=1)
    tokens_per_month: int | None = Field(None, ge=1)
    tokens_per_run: int | None = Field(None, ge=1)
    money_per_hour: float | None = Field(None, gt=0)
    money_per_day: float | None = Field(None, gt=0)
    money_per_month: float | None = Field(None, gt=0)
    money_per_run: float | None = Field(None, gt=0)


class EmbeddingOptions(Term):
    """`base_url` None: that of the chat completions. `dimension`: of the model's vectors; what
    comes in another is refused. `cached`: places for vectors in the graph, 0 for none."""

    base_url: Address | None = None
    model: str = "text-embedding-3-small"
    dimension: int = Field(1_536, ge=2, le=65_536)
    cached: int = Field(20_000, ge=0)


class OpenAIOptions(Term):
    """`timeout`: seconds an answer may take. `attempts`: how often a call is tried that nobody
    answered. `temperature` None: the server's own. `context_tokens`: what fits a prompt and its
    answer. `fused` false: the paper's prompts one by one. `cached_answers`: places for answers to
    equal inputs, 0 for none. `stand_in`: where the offline reasoner answers instead, marked
    (`unavailable`: also while nobody answers or a budget is spent). `price_*`: money a million
    tokens."""

    base_url: Address = "https://api.openai.com/v1"
    model: str = Field("gpt-4o-mini", min_length=1)
    key_variable: str = "OPENAI_API_KEY"
    in_flight: int = Field(8, ge=1, le=1_000)
    calls_per_minute: int | None = Field(None, ge=1)
    tokens_per_minute: int | None = Field(None, ge=100)
    timeout: float = Field(60.0, gt=0)
    attempts: int = Field(5, ge=1, le=20)
    temperature: float | None = Field(0.0, ge=0, le=2)
    context_tokens: int = Field(8_192, ge=2_048)
    fused: bool = True
    cached_answers: int = Field(20_000, ge=0)
    price_prompt: float = Field(0.0, ge=0)
    price_completion: float = Field(0.0, ge=0)
    stand_in: Literal["never", "failed", "unavailable"] = "never"
    budget: BudgetOptions = BudgetOptions()
    embeddings: EmbeddingOptions = EmbeddingOptions()
