"""The bodies of answers, as servers write them: read by hand, since a client's models take whatever
comes for an answer."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from propagation.adapters.openai.parsing.answer_text import plain

COUNT_MAX = 10_000_000
WRAPPINGS_MAX = 3
SHOWN = 80
CUT_OFF = "length"
ERRORS = range(400, 600)


class NoAnswer(ValueError):
    """A body that is none of what was asked for: an error page with status 200, an error in JSON.
    `status`: what the body says that it should have been; 0 where it says nothing. `cut`: it is the
    beginning of something."""

    def __init__(self, message: str, status: int = 0, *, cut: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.cut = cut


def body_of(content: bytes, member: str) -> Mapping[str, Any]:
    """The JSON object in a body that holds `member` as a list; a stream that nobody asked for, put
    together. What is no UTF-8 in it reads as U+FFFD. Raises NoAnswer."""
    text = content.decode(json.detect_encoding(content), "replace").lstrip("\ufeff")
    try:
        body = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        body = _streamed(text) or _first_of(text)
        if body is None:
            raise NoAnswer(
                f"the body is no JSON: {' '.join(text[:SHOWN].split())!r}",
                cut=text.lstrip()[:1] == "{",
            ) from error
    found = _holding(body, member)
    if found is not None:
        return found
    said = (
        said_in(body)
        if isinstance(body, Mapping) and field(body, "error")
        else " ".join(text[:SHOWN].split())
    )
    raise NoAnswer(f"the body has no list of {member}: {said}", _status_in(body))


def field(of: object, name: str) -> Any:
    """A member by its name, whatever its case and signs (`finishReason`); None where there is none."""
    if not isinstance(of, Mapping):
        return None
    if name in of:
        return of[name]
    looked_for = plain(name)
    return next((value for other, value in of.items() if plain(str(other)) == looked_for), None)


def choice_of(body: Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    """(text, finish reason, refusal) of the first choice that says something, an object before
    others; None for what there is not. Raises NoAnswer where the choice is an error."""
    choices = [choice for choice in body["choices"] if isinstance(choice, Mapping)]
    choice: Mapping[str, Any] = (
        max(choices, key=_worth) if len(choices) > 1 else choices[0] if choices else {}
    )
    text = said_by(choice)
    error = field(choice, "error")
    if error and not text:
        raise NoAnswer(
            f"the choice is an error: {said_in({'error': error})}", _status_in({"error": error})
        )
    refusal = _text(field(_message(choice), "refusal"))
    return text, _text(field(choice, "finish_reason")), refusal if not text else None


def _worth(choice: Mapping[str, Any]) -> int:
    """Of several choices, which servers give that were asked for one: an object, any text, nothing."""
    text = said_by(choice)
    return 2 if text and _is_object(text) else 1 if text else 0


def said_by(choice: Mapping[str, Any]) -> str | None:
    """What a choice says: content, a call of a tool that nobody offered, or, where there is
    neither, an answer that came as reasoning (as thought, where it is no whole object)."""
    message = _message(choice)
    content = text_of(field(message, "content"))
    if content is None:
        content = text_of(field(choice, "text"))
    called = _called(message)
    if called and (content is None or "{" not in content):
        return called
    if content is not None and content.strip():
        return content
    thought = text_of(field(message, "reasoning_content")) or text_of(field(message, "reasoning"))
    if thought and thought.strip():
        return thought if _is_object(thought) else f"<think>{thought}"
    return content


def text_of(content: object) -> str | None:
    """Text, or the texts of a list of parts; an object is the answer itself."""
    if isinstance(content, Mapping):
        inner = field(content, "text")
        return inner if isinstance(inner, str) and len(content) <= 2 else json.dumps(content)
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "".join(part for one in content if (part := _part(one)) is not None) or None
    return _text(content)


def counted(body: Mapping[str, Any], name: str, about: int) -> int:
    """Tokens as the server counted them; some count nothing, and some what can't be: then `about`."""
    count = field(field(body, "usage"), name)
    if isinstance(count, str) and count.isascii() and count.isdigit() and len(count) < 10:
        count = int(count)
    return count if type(count) is int and 0 < count <= COUNT_MAX else about


def said_in(body: object) -> str:
    """The message of an error's body, whatever its form, in one line."""
    if isinstance(body, Mapping):
        inner = field(body, "error") or body
        if isinstance(inner, Mapping):
            body = " ".join(
                str(said)
                for name in ("message", "detail", "code", "type")
                if (said := field(inner, name))
            )
        else:
            body = inner
    return " ".join(str(body or "").split())[:300]


def _holding(body: object, member: str) -> Mapping[str, Any] | None:
    """The object that holds the list, out of an object or list of one around it."""
    for _ in range(WRAPPINGS_MAX):
        if isinstance(body, list) and len(body) == 1:
            [body] = body
        if not isinstance(body, Mapping):
            return None
        if isinstance(found := field(body, member), list):
            return {**body, member: found}
        inner = [value for value in body.values() if isinstance(value, Mapping)]
        if len(inner) != 1 or field(body, "error"):
            return None
        [body] = inner
    return None


def _first_of(text: str) -> dict[str, Any] | None:
    """The object that a body begins with, where more stands behind it."""
    try:
        body, _ = json.JSONDecoder(strict=False).raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _streamed(text: str) -> dict[str, Any] | None:
    """A stream's events (`data: {...}`, or an object a line) as one body; None where it is none.
    What breaks off before anybody said that it ended counts as cut."""
    whole: list[str] = []
    calls: dict[Any, dict[str, Any]] = {}
    out: dict[str, Any] = {}
    finish: Any = None
    ended = seen = False
    for line in text.splitlines():
        payload = line.strip().removeprefix("data:").strip()
        if payload == "[DONE]":
            ended = True
        if not payload.startswith("{"):
            continue
        try:
            event = json.loads(payload, strict=False)
        except (ValueError, RecursionError):
            continue
        choices = field(event, "choices")
        if field(event, "error") and not choices:
            return event if not seen else None
        for choice in choices if isinstance(choices, list) else ():
            seen = True
            delta = field(choice, "delta") or field(choice, "message")
            whole.append(text_of(field(delta, "content")) or "")
            _gather_calls(calls, field(delta, "tool_calls"))
            finish = field(choice, "finish_reason") or finish
        if isinstance(field(event, "usage"), Mapping):
            out["usage"] = field(event, "usage")
    if not seen:
        return None
    message = {"content": "".join(whole), "tool_calls": list(calls.values())}
    return {
        **out,
        "choices": [{"message": message, "finish_reason": finish or (None if ended else CUT_OFF)}],
    }


def _gather_calls(calls: dict[Any, dict[str, Any]], deltas: object) -> None:
    for delta in deltas if isinstance(deltas, list) else ():
        said = field(delta, "function")
        call = calls.setdefault(
            str(field(delta, "index")), {"function": {"name": "", "arguments": ""}}
        )["function"]
        call["name"] += _text(field(said, "name")) or ""
        call["arguments"] += _text(field(said, "arguments")) or ""


def _message(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    said = field(choice, "message") or field(choice, "delta")
    return said if isinstance(said, Mapping) else {"content": said}


def _called(message: Mapping[str, Any]) -> str | None:
    """Calls of tools as one object: a call's name to its arguments, which are text or an object."""
    calls = field(message, "tool_calls")
    functions = (
        [field(call, "function") or call for call in calls] if isinstance(calls, list) else []
    )
    functions = [
        one for one in (*functions, field(message, "function_call")) if isinstance(one, Mapping)
    ]
    said = [(_text(field(one, "name")) or "answer", field(one, "arguments")) for one in functions]
    parts = [
        f"{json.dumps(name)}: {asked if isinstance(asked, str) else json.dumps(asked)}"
        for name, asked in said
        if asked
    ]
    return f"{{{', '.join(parts)}}}" if parts else None


def _part(one: object) -> str | None:
    if not isinstance(one, Mapping):
        return _text(one)
    kind = field(one, "type")
    return (
        None
        if isinstance(kind, str) and plain(kind) in ("thinking", "reasoning")
        else _text(field(one, "text"))
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False


def _status_in(body: object) -> int:
    """What an error's body says of itself."""
    error = field(body, "error")
    for value in (
        field(error, "code"),
        field(error, "status"),
        field(body, "code"),
        field(body, "status"),
    ):
        if isinstance(value, int | str) and str(value).isdigit() and int(value) in ERRORS:
            return int(value)
    return 0


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
