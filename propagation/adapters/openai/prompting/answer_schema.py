"""The JSON schema of a question's answer.

Also its description in words, and how many tokens it allows.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

TEXT_CHARS, NAME_CHARS, LIST_ITEMS = 160, 30, 4
NUMBER_CHARS = 6
SPACE_FACTOR, CHARS_A_TOKEN = 1.2, 2
Choices = Mapping[str, Sequence[str | int]]
"""By the name of a field, the values that it, or each item of its list, may have."""
Lengths = Mapping[str, tuple[int, int]]
"""By the name of a list, the least and the most items."""


def build_shape(
    model: type[BaseModel], choices: Choices, lengths: Lengths, *, bounded: bool
) -> dict[str, Any]:
    """Build a type's schema, narrowed to one question.

    The schema has types, names and enums only, which all servers with grammars take. If `bounded`,
    texts and lists have bounds: their own, or else those of a line, a name and a few names. Then a
    model that begins to repeat itself in one part still reaches the others.
    """
    schema = _build_model_schema(model)

    def bounds(node: Mapping[str, Any], **usual: int) -> dict[str, Any]:
        return (
            {**usual, **_select_keys(node, "minItems", "maxItems", "maxLength")} if bounded else {}
        )

    def walk(node: Any, field: str = "", chars: int = TEXT_CHARS) -> Any:
        if "$ref" in node:
            return walk(schema["$defs"][node["$ref"].rsplit("/", 1)[1]], field)
        if node.get("type") == "object":
            return {
                "type": "object",
                "properties": {
                    name: walk(value, name) for name, value in node["properties"].items()
                },
                "required": list(node["properties"]),
                "additionalProperties": False,
            }
        if node.get("type") == "array":
            least, most = lengths.get(field, (None, None))
            usual = {"maxItems": LIST_ITEMS} if most is None else {}
            own = {} if most is None or not bounded else {"minItems": least, "maxItems": most}
            return {
                "type": "array",
                "items": walk(node["items"], field, NAME_CHARS),
                **bounds(node, **usual),
                **own,
            }
        if field in choices:
            return {"type": node["type"], "enum": list(choices[field])}
        if node.get("type") == "string" and not node.keys() & {"enum", "const"}:
            return {"type": "string", **bounds(node, maxLength=chars)}
        return _select_keys(node, "type", "enum", "const")

    return dict(walk(schema))


@lru_cache(64)
def _build_model_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Build a type's own schema, which takes pydantic milliseconds."""
    return model.model_json_schema()


def _select_keys(node: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: node[name] for name in names if name in node}


def trim_to_word(text: str, chars: int) -> str:
    """End a text at a word where a grammar cut it.

    A text shorter than the bound was not cut.

    Args:
        chars: The bound of the grammar.
    """
    return text if len(text) < chars or " " not in text else text.rsplit(" ", 1)[0]


def describe_schema(schema: Mapping[str, Any]) -> str:
    """Describe the answer's form in words, for models without a grammar."""
    if "enum" in schema:
        return " | ".join(
            f'"{value}"' if isinstance(value, str) else str(value) for value in schema["enum"]
        )
    if schema["type"] == "object":
        members = (
            f'"{name}": {describe_schema(value)}' for name, value in schema["properties"].items()
        )
        return "{" + ", ".join(members) + "}"
    if schema["type"] == "array":
        return f"[{describe_schema(schema['items'])}, ...]"
    return str(schema["type"])


def count_tokens_allowed(schema: Mapping[str, Any]) -> int:
    """Count the tokens of the longest answer that a schema allows.

    A token is taken to have two characters, as in texts of single letters; those of words have
    four. A fifth is added for spaces between the parts. In a rare script a character may be several
    tokens, but sentences there have fewer characters.

    Args:
        schema: A bounded one.
    """
    return int(SPACE_FACTOR * _count_chars(schema) / CHARS_A_TOKEN) + 1


def _count_chars(schema: Mapping[str, Any]) -> int:
    if "enum" in schema:
        return max(len(str(value)) for value in schema["enum"]) + 2
    if "const" in schema:
        return len(str(schema["const"])) + 2
    if schema["type"] == "object":
        return 2 + sum(
            len(name) + 4 + _count_chars(value) for name, value in schema["properties"].items()
        )
    if schema["type"] == "array":
        return 2 + int(schema["maxItems"]) * (_count_chars(schema["items"]) + 1)
    return int(schema["maxLength"]) + 2 if schema["type"] == "string" else NUMBER_CHARS
