"""The settings of an endpoint.

The key is not among them: it comes from the environment and is never printed.
"""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from propagation.model import Term

TEXTS_PER_CALL = 64
Period = Literal["hour", "day", "month", "run"]


def _is_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError(
            "base_url is not the address of a server: give one as http://127.0.0.1:8080/v1"
        )
    return value


Address = Annotated[str, AfterValidator(_is_address)]


class BudgetOptions(Term):
    """Limits of spending in a period of UTC.

    None is no limit. A `run` lasts from the start of this process.
    """

    tokens_per_hour: int | None = Field(None, ge=1)
    tokens_per_day: int | None = Field(None, ge=1)
    tokens_per_month: int | None = Field(None, ge=1)
    tokens_per_run: int | None = Field(None, ge=1)
    money_per_hour: float | None = Field(None, gt=0)
    money_per_day: float | None = Field(None, gt=0)
    money_per_month: float | None = Field(None, gt=0)
    money_per_run: float | None = Field(None, gt=0)


class EmbeddingOptions(Term):
    """Embeddings of the endpoint.

    Attributes:
        base_url: None: that of the chat completions.
        dimension: Of the model's vectors; others are refused.
        cached: Places for vectors in the graph; 0: none.
    """

    base_url: Address | None = None
    model: str = "text-embedding-3-small"
    dimension: int = Field(1_536, ge=2, le=65_536)
    cached: int = Field(20_000, ge=0)


class OpenAIOptions(Term):
    """The endpoint and how it is asked.

    Attributes:
        insecure: Send the key to other machines without TLS.
        timeout: Seconds that an answer may take.
        attempts: How often a call is tried that is not answered.
        temperature: None: the server's own.
        context_tokens: What a prompt and its answer may have together.
        fused: False: the paper's prompts one by one.
        cached_answers: Places for answers to equal questions; 0: none.
        stand_in: When the offline reasoner answers instead, marked; `unavailable`: also while
            nothing is answered or a budget is spent.
        price_prompt: Money for a million tokens, as is price_completion.
    """

    base_url: Address = "https://api.openai.com/v1"
    model: str = Field("gpt-4o-mini", min_length=1)
    # Capital letters, so that a key itself is refused; and an error does not repeat it.
    key_variable: str = Field("OPENAI_API_KEY", pattern="^[A-Z_][A-Z0-9_]*$", repr=False)
    insecure: bool = False
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
