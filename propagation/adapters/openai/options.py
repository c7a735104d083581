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
            "base_url is not the address of a server: give one such as http://127.0.0.1:8080/v1"
        )
    return value


Address = Annotated[str, AfterValidator(_is_address)]


class BudgetOptions(Term):
    """Limits of tokens and money for each period, in UTC."""

    tokens_per_hour: int | None = Field(
        None, ge=1, description="The most tokens to use in an hour (UTC); none: no limit."
    )
    tokens_per_day: int | None = Field(
        None, ge=1, description="The most tokens to use in a day (UTC); none: no limit."
    )
    tokens_per_month: int | None = Field(
        None, ge=1, description="The most tokens to use in a month (UTC); none: no limit."
    )
    tokens_per_run: int | None = Field(
        None,
        ge=1,
        description="The most tokens to use from the start of this process; none: no limit.",
    )
    money_per_hour: float | None = Field(
        None, gt=0, description="The most money to spend in an hour (UTC); none: no limit."
    )
    money_per_day: float | None = Field(
        None, gt=0, description="The most money to spend in a day (UTC); none: no limit."
    )
    money_per_month: float | None = Field(
        None, gt=0, description="The most money to spend in a month (UTC); none: no limit."
    )
    money_per_run: float | None = Field(
        None,
        gt=0,
        description="The most money to spend from the start of this process; none: no limit.",
    )


class EmbeddingOptions(Term):
    """Settings of embeddings."""

    base_url: Address | None = Field(
        None,
        description="Address of the server for embeddings; none: the same as `openai.base_url`.",
    )
    model: str = Field(
        "text-embedding-3-small", description="Name of the model that makes embeddings."
    )
    dimension: int = Field(
        1_536,
        ge=2,
        le=65_536,
        description="How many numbers a vector of that model has; any other length is refused.",
    )
    cached: int = Field(
        20_000, ge=0, description="How many vectors are kept in the graph for later; 0: none."
    )


class OpenAIOptions(Term):
    """Settings of the endpoint, and how it is asked."""

    base_url: Address = Field(
        "https://api.openai.com/v1",
        description="Address of the language model's server, for example http://127.0.0.1:8080/v1.",
    )
    model: str = Field("gpt-4o-mini", min_length=1, description="Name of the language model.")
    # Only capital letters, so that a key given by mistake is refused; and without repr, so that an
    # error does not show it.
    key_variable: str = Field(
        "OPENAI_API_KEY",
        pattern="^[A-Z_][A-Z0-9_]*$",
        repr=False,
        description="Name of the environment variable that holds the key.",
    )
    insecure: bool = Field(False, description="Send the key to other machines without TLS.")
    in_flight: int = Field(
        8, ge=1, le=1_000, description="The most calls that run at the same time."
    )
    calls_per_minute: int | None = Field(
        None, ge=1, description="The most calls in a minute; none: no limit."
    )
    tokens_per_minute: int | None = Field(
        None, ge=100, description="The most tokens in a minute; none: no limit."
    )
    timeout: float = Field(180.0, gt=0, description="Seconds that an answer may take.")
    attempts: int = Field(
        5, ge=1, le=20, description="How many times a call without an answer is tried."
    )
    temperature: float | None = Field(
        0.0,
        ge=0,
        le=2,
        description="How freely the model chooses its words; none: the server's default.",
    )
    context_tokens: int = Field(
        8_192,
        ge=1_024,
        description=(
            "How many tokens a prompt and its answer may have together. What a prompt shows is "
            "shortened to fit; below 2,048 an answer has one edit."
        ),
    )
    fused: bool = Field(
        True,
        description=(
            "Ask several of the paper's prompts in one call; if off, each is a call of its own."
        ),
    )
    clients_a_call: int = Field(
        10, ge=1, le=50, description="The most clients that one call describes."
    )
    edits: int = Field(
        2,
        ge=1,
        le=2,
        description="The most edits of a profile, and the most filter rules, in one answer.",
    )
    items: Literal["lines", "titles"] = Field(
        "lines",
        description=(
            "How prompts show items: by all lines of their profiles, or by title and genres "
            "(attributes and categories of the catalogue) with the lines that interactions and "
            "messages wrote."
        ),
    )
    attributes: Literal["free", "known"] = Field(
        "free",
        description=(
            "Which attributes a model may give: any, or only those that the question's clients "
            "and messages have; any, too, where these have none. With known ones, a text that "
            "names nothing of its question is refused."
        ),
    )
    cached_answers: int = Field(
        20_000,
        ge=0,
        description="How many answers are kept in the graph for equal questions; 0: none.",
    )
    price_prompt: float = Field(0.0, ge=0, description="Price of a million tokens that are sent.")
    price_completion: float = Field(
        0.0, ge=0, description="Price of a million tokens that come back."
    )
    fallback: Literal["never", "failed", "unavailable"] = Field(
        "never",
        description=(
            "When the offline reasoner answers instead, which marks the answer. never; failed: "
            "when a question got no usable answer; unavailable: also while the server is down "
            "or a budget is spent."
        ),
    )
    predict: Literal["model", "offline"] = Field(
        "model",
        description=(
            "Who predicts which of two items a user chooses (eq. 6): the model; or the offline "
            "reasoner, by the learned numbers, which marks the prediction."
        ),
    )
    router_texts: Literal["model", "offline"] = Field(
        "model",
        description=(
            "Who writes routers' texts in rounds (eq. 3): the model, with the offline reasoner for "
            "texts that are not usable; or the offline reasoner alone. What it writes is marked."
        ),
    )
    budget: BudgetOptions = BudgetOptions()
    embeddings: EmbeddingOptions = EmbeddingOptions()
