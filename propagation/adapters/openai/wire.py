"""The bodies of answers, as servers write them: read by hand, since a client's models take whatever comes for an answer."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from propagation.adapters.openai.failures import said_in

COUNT_MAX = 10_000_000


class NoAnswer(ValueError):
    """A body that is none of what was asked for: an error page with status 200, an error in JSON, a stream."""


def body_of(content: bytes, member: str) -> Mapping[str, Any]:
    """The JSON object in a body that holds `member` as a list. What is no UTF-8 in it reads as U+FFFD. Raises NoAnswer."""
    text = content.decode(json.detect_encoding(content), "replace").lstrip("\ufeff")
    try:
        body = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        raise NoAnswer(f"the body is no JSON: {' '.join(text[:80].split())!r}") from error
    if not isinstance(body, Mapping) or not isinstance(body.get(member), list):
        said = said_in(body) if isinstance(body, Mapping) and body.get("error") else " ".join(text[:80].split())
        raise NoAnswer(f"the body has no list of {member}: {said}")
    return body


def choice_of(body: Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    """(text, finish reason, refusal) of the first choice; None for what there is not."""
    first = body["choices"][0] if body["choices"] else None
    choice: Mapping[str, Any] = first if isinstance(first, Mapping) else {}
    said = choice.get("message")
    message: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
    return text_of(message.get("content")), _text(choice.get("finish_reason")), _text(message.get("refusal"))


def text_of(content: object) -> str | None:
    """Text, or the texts of a list of parts; an object is the answer itself."""
    if isinstance(content, Mapping):
        return json.dumps(content)
    if isinstance(content, Sequence) and not isinstance(content, str):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "".join(part for part in parts if isinstance(part, str)) or None
    return _text(content)


def counted(body: Mapping[str, Any], name: str, about: int) -> int:
    """Tokens as the server counted them; some count nothing, and some what can't be: then `about`."""
    usage = body.get("usage")
    count = usage.get(name) if isinstance(usage, Mapping) else None
    return count if type(count) is int and 0 < count <= COUNT_MAX else about


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
