"""The script of the server: its delays, its faults and its habits."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

# Each habit, a text of the answer, and the insertion that the habit makes after it.
INSERTIONS = (
    ("infinite", '"prediction": {', '"certainty": 1e999, '),
    ("surrogates", '"text": "', "\\ud800\\u0000 "),
    ("surrogates", '"why": "', "\\udfff\\u0000 "),
    ("raw_newlines", '"text": "', "\n"),
    ("raw_newlines", '"why": "', "\n"),
)
PROSE_BEFORE = "Sure! Here is the answer {as asked}:\n\n"
PROSE_AFTER = "\n\nLet me know if {anything} is unclear."
# Each habit, and the texts that it puts before and after an answer.
WRAPPERS = (
    ("fences", "```json\n", "\n```"),
    ("prose", PROSE_BEFORE, PROSE_AFTER),
    ("schema_ignored", PROSE_BEFORE, PROSE_AFTER),
    ("think", '<think>First, {"choice": 2} comes to mind. Or {"choice": 1}?</think>\n', ""),
    ("think_open", 'Hm, {"choice": 2} perhaps.\n</think>\n\n', ""),
)
UNREADABLE = {
    "blank": " \n\t\n",
    "not_json": "The first of the two would please this reader more, by what the profile says of "
    "its taste.",
}
WRONG = {"choice": 999, "line": 999, "used": ["M999"], "order": [999], "op": "replace"}


def estimate_tokens(text: str) -> int:
    """Estimate tokens as other programs do: a quarter of the characters."""
    return (len(text) + 3) // 4


def write_answer(answer: Mapping[str, Any], fault: str | None, habits: frozenset[str]) -> str:
    """Write an answer as JSON, with a fault and habits."""
    if fault in UNREADABLE:
        return UNREADABLE[fault]
    value: Any = _with_wrong_ids(answer) if fault == "wrong_ids" else answer
    text = json.dumps(value, ensure_ascii=False)
    if fault == "malformed":
        return text.replace('": ', '" ', 3) if '": ' in text else text[:-1]
    for habit, start, put_after in INSERTIONS:
        if habit in habits:
            text = text.replace(start, start + put_after)
    for habit, before, after in WRAPPERS:
        if habit in habits:
            text = before + text + after
    return text


def _with_wrong_ids(value: Any) -> Any:
    """Give lines, messages and candidates numbers that do not exist."""
    if isinstance(value, dict):
        return {
            name: WRONG[name] if name in WRONG else _with_wrong_ids(one)
            for name, one in value.items()
        }
    return [_with_wrong_ids(one) for one in value] if isinstance(value, list) else value


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
    "first_place": "chooses the candidate that comes first, and ranks in the order shown",
    "echo": "writes what the prompt says of the interaction in place of its own texts",
}
CONTEXT_TOKENS = 6_000
UNSUPPORTED = "Unsupported parameter: '{}' is not supported with this model"


@dataclass(eq=False)
class Refused(Exception):
    """An HTTP error that the server sends in place of an answer."""

    status: int
    message: str
    code: str = ""
    kind: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


# The errors of habits that refuse calls; FakeLLM passes their occasions to `_refuse`.
REFUSALS = {
    "key_required": partial(Refused, 401, "Incorrect API key provided"),
    "schema_500": partial(Refused, 500, "grammar not supported"),
    "json_only": partial(Refused, 400, "response_format of type json_schema is not supported"),
    "format_422": partial(Refused, 422, "Extra inputs are not permitted: response_format"),
    "temperature_400": partial(Refused, 400, UNSUPPORTED.format("temperature")),
    "max_tokens_400": partial(Refused, 400, UNSUPPORTED.format("max_tokens")),
    "context_code": partial(
        Refused,
        400,
        "This model's maximum context length is exceeded",
        code="context_length_exceeded",
    ),
    "context_type": partial(
        Refused, 400, "the request exceeds the available size", kind="exceed_context_size_error"
    ),
    "no_embeddings": partial(Refused, 501, "This server does not support embeddings"),
    "filtered_embeddings": partial(Refused, 400, "The input was refused by the content filter"),
}


@dataclass(frozen=True)
class Script:
    """The script of a server.

    Attributes:
        latency: Seconds until an answer, to which a uniform draw from -jitter to +jitter is added.
        faults: Share of calls by fault. A call has one fault at most; a retry draws again.
        retry_after: Seconds that a 429 asks the caller to wait.
        dimension: Dimension of the embeddings.
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

    def draw(self, random: Random) -> str | None:
        """Draw the fault of the next call, if any."""
        shares = [*self.faults.values(), 1 - sum(self.faults.values())]
        return random.choices([*self.faults, None], shares)[0]
