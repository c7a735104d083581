"""How the scripted model writes its answer: as JSON, or with a habit or fault of real models."""

import json
from collections.abc import Mapping
from typing import Any


def tokens_of(text: str) -> int:
    """Estimate tokens as other programs do: a quarter of the characters."""
    return (len(text) + 3) // 4


def spoken(said: Mapping[str, Any], fault: str | None, habits: frozenset[str]) -> str:
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
