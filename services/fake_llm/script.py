"""The script of the server: how long it takes, its faults and its habits, and how they look."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any


def estimate_tokens(text: str) -> int:
    """Estimate tokens as other programs do: a quarter of the characters."""
    return (len(text) + 3) // 4


def write_answer(said: Mapping[str, Any], fault: str | None, habits: frozenset[str]) -> str:
    """Write an answer."""
    if fault == "blank":
        return " \n\t\n"
    if fault == "not_json":
        return (
            "The first of the two would please this reader more, by what the profile says of "
            "its taste."
        )
    value: Any = _with_wrong_ids(said) if fault == "wrong_ids" else said
    text = json.dumps(value, ensure_ascii=False)
    if fault == "malformed":
        return text.replace('": ', '" ', 3) if '": ' in text else text[:-1]
    if "infinite" in habits:
        text = text.replace('"choice": ', '"certainty": 1e999, "choice": ')
    if "surrogates" in habits:
        text = text.replace('"text": "', '"text": "\\ud800\\u0000 ').replace(
            '"why": "', '"why": "\\udfff\\u0000 '
        )
    if "raw_newlines" in habits:
        text = text.replace('"text": "', '"text": "\n').replace('"why": "', '"why": "\n')
    if "fences" in habits:
        text = f"```json\n{text}\n```"
    if "prose" in habits or "schema_ignored" in habits:
        text = (
            f"Sure! Here is the answer {{as asked}}:\n\n{text}\n\nLet me know if "
            f"{{anything}} is unclear."
        )
    if "think" in habits:
        text = f'<think>First, {{"choice": 2}} comes to mind. Or {{"choice": 1}}?</think>\n{text}'
    if "think_open" in habits:
        text = f'Hm, {{"choice": 2}} perhaps.\n</think>\n\n{text}'
    return text


def _with_wrong_ids(value: Any) -> Any:
    """Every number of a line, message or candidate is one that there isn't."""
    if isinstance(value, dict):
        return {name: _wrong(name, one) for name, one in value.items()}
    return [_with_wrong_ids(one) for one in value] if isinstance(value, list) else value


def _wrong(name: str, value: Any) -> Any:
    if name in ("choice", "line"):
        return 999
    if name in ("used", "order"):
        return ["M999" if name == "used" else 999]
    if name == "op":
        return "replace"
    return _with_wrong_ids(value)


FAULTS = (
    "429",
    "500",
    "malformed",
    "truncated",
    "disconnect",
    "refusal",
    "empty_choices",
    "blank",
    "wrong_ids",
    "drip",
    "not_json",
)
HABITS = {
    "schema_ignored": "takes response_format and answers prose around the object all the same",
    "schema_500": "answers a json_schema with 500",
    "json_only": "answers a json_schema with 400 and takes json_object",
    "format_422": "answers any response_format with 422",
    "temperature_400": "answers a temperature with 400",
    "max_tokens_400": "answers max_tokens with 400 and takes max_completion_tokens",
    "think": "thinks aloud before it answers",
    "think_open": "thinks without an opening tag",
    "fences": "puts the answer in a code fence",
    "prose": "says something before and after the answer",
    "no_usage": "counts all zeros",
    "no_finish": "gives no finish_reason",
    "raw_newlines": "writes raw line breaks inside strings",
    "surrogates": "writes lone surrogates and NUL as JSON escapes",
    "infinite": "writes a number that reads as infinity",
    "no_models": "lists no models",
    "key_required": "answers 401 to any key but `right`",
    "context_code": "answers too long a prompt with code context_length_exceeded",
    "context_type": "answers too long a prompt with type exceed_context_size_error",
    "body_string": "errors have a string for a body",
    "body_detail": "errors have a list of details for a body",
    "no_embeddings": "answers 501 to embeddings",
    "filtered_embeddings": "answers 400 to embeddings of texts that hold `forbidden`",
    "token_embeddings": "embeds every token",
    "short_embeddings": "embeds in another dimension",
    "unordered_embeddings": "answers embeddings in another order",
    "gullible": "obeys any order that it reads, wherever it stands",
    "obedient": "obeys an order that stands outside of the delimited data",
}
CONTEXT_TOKENS = 6_000


@dataclass(frozen=True)
class Script:
    """The script of a server.

    Attributes:
        latency: Seconds, with `jitter` uniform around it.
        faults: Share of calls by fault; faults exclude each other, and retries fail, too.
        retry_after: Seconds that a 429 asks for.
    """

    latency: float = 0.0
    jitter: float = 0.0
    faults: Mapping[str, float] = field(default_factory=dict)
    habits: frozenset[str] = frozenset()
    seed: int = 7
    retry_after: float = 0.05
    dimension: int = 16

    def __post_init__(self) -> None:
        unknown = sorted((set(self.faults) - set(FAULTS)) | (self.habits - HABITS.keys()))
        if unknown:
            raise ValueError(
                f"{unknown[0]!r} is neither a fault ({', '.join(FAULTS)}) nor a habit "
                f"({', '.join(HABITS)})"
            )
        if sum(self.faults.values()) > 1:
            raise ValueError("the shares of faults add up to more than 1")

    def drawn(self, random: Random) -> str | None:
        """Draw the fault of the next call, if any."""
        at = random.random()
        for name, share in self.faults.items():
            if at < share:
                return name
            at -= share
        return None
