"""Answers that come as an event stream without being asked to."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

STREAM = re.compile(r"\s*(?:data|event|id|retry|):")
TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


def is_event_stream(body: str) -> bool:
    """Tell whether a body is an event stream."""
    return STREAM.match(body) is not None


def join_events(body: str) -> dict[str, Any]:
    """Join the events of a stream to one chat completion.

    Returns:
        The body of a completion with the first choice, or of an error if an event has one. It has
        no "choices" if no event has any. A stream that broke off has no "finish_reason".

    Source: https://html.spec.whatwg.org/multipage/server-sent-events.html; the chunks are those of
    chat completions with stream=true.
    """
    joined: dict[str, Any] = {}
    has_choices = False
    texts: dict[str, str] = {}
    finish: object = None
    for event in _read_events(body):
        if event.get("error"):
            return {"error": event["error"]}
        joined["usage"] = event.get("usage") or joined.get("usage")
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            has_choices = True
            if not isinstance(choice, Mapping) or choice.get("index", 0) != 0:
                continue
            finish = choice.get("finish_reason") or finish
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, Mapping):
                for name in TEXTS:
                    if isinstance(text := delta.get(name), str):
                        texts[name] = texts.get(name, "") + text
    if has_choices:
        joined["choices"] = [{"index": 0, "message": texts, "finish_reason": finish}]
    return joined


def _read_events(body: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a stream, and nothing else of it."""
    for event in re.split(r"\r?\n\r?\n|\r\r", body):
        lines = (line for line in event.splitlines() if line.startswith("data:"))
        data = "\n".join(line.removeprefix("data:").removeprefix(" ") for line in lines)
        try:
            value = json.loads(data, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, Mapping):
            yield value
