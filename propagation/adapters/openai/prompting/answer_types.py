"""Types of answers, which accept near forms and refuse ambiguous ones."""

import math
import re
from contextlib import suppress
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from propagation.adapters.openai.answer_json import find_members

NUMBER = re.compile(r"(?<!\d)(?<!\d\.)-?\d{1,6}(?!\d|\.\d)")
ESCAPED_SPACE = re.compile(r"\\[nrt](?![a-z])")
"""A line's end or a tab that a model has escaped twice."""
NUMBER_WORDS = {"one": 1, "first": 1, "two": 2, "second": 2}
TRUTHS = {
    **dict.fromkeys(("yes", "true", "y", "partly", "partially", "somewhat", "mostly", "1"), True),
    **dict.fromkeys(("no", "not", "false", "n", "hardly", "neither", "0"), False),
}


class Answer(BaseModel):
    """A part of an answer.

    It is checked leniently in form (names in another case, numbers as text, one thing where a list
    was asked for) and strictly in kind.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)
    _stands_for: ClassVar[str]

    def __init_subclass__(cls, stands_for: str = "") -> None:
        """Set the field for which a bare value stands; "": none."""
        cls._stands_for = stands_for

    @model_validator(mode="before")
    @classmethod
    def _as_named(cls, value: Any) -> Any:
        """Find the fields, whatever the case of their names.

        Raises:
            ValueError: The object has fields but none of the expected ones, so it is not taken for
                an empty answer; or a number is not finite.
        """
        if not isinstance(value, dict):
            if cls._stands_for and value not in (None, ""):
                return {cls._stands_for: value}
            return {} if value is None else value
        asked = find_members(value, cls.model_fields)
        if value and not asked:
            raise ValueError(f"it has none of the fields {', '.join(cls.model_fields)}")
        if endless := [name for name, one in asked.items() if _is_no_number(one)]:
            raise ValueError(f"{', '.join(endless)} must be finite")
        return {
            name: ESCAPED_SPACE.sub(" ", one) if isinstance(one, str) else one
            for name, one in asked.items()
        }


def _is_no_number(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def to_list(value: Any) -> Any:
    """Return a value as a list without empty items.

    A text is split into names at its commas.
    """
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return (
        [one for one in value if one is not None and one != ""]
        if isinstance(value, list)
        else [value]
    )


def _read_names(value: Any) -> list[Any]:
    """Return names as a list, without lists, objects and infinite numbers."""
    return [
        one for one in to_list(value) if not isinstance(one, list | dict) and not _is_no_number(one)
    ]


def read_several(value: Any) -> Any:
    """Return texts or objects as a list.

    Unlike `to_list`, this does not split a text at its commas.
    """
    return to_list(value if isinstance(value, list) else [value])


def _keep_good_ones(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Keep the valid items of a list.

    Raises:
        ValidationError: No item is valid.
    """
    try:
        return validate(value)
    except ValidationError:
        good: list[Any] = []
        for one in value:
            with suppress(ValidationError):
                good += validate([one])
        if not good:
            raise
        return good


def _number(value: Any) -> Any:
    """Read a number as small models write it.

    They write "Candidate 2", "line 3" or "first"; "" means 0.

    Returns:
        Any other value unchanged, such as a text with two numbers; its type then refuses it.
    """
    if value is None or value == "":
        return 0
    if isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        return value
    found = {int(one) for one in NUMBER.findall(value)} or {
        NUMBER_WORDS[one] for one in value.lower().split() if one in NUMBER_WORDS
    }
    return found.pop() if len(found) == 1 else value


def _read_truth(value: Any) -> Any:
    """Read whether something helped.

    Models answer in words ("yes", "partly") or with a share of 1, of which 0.5 is enough. An empty
    answer counts as true: the model saw no harm.
    """
    if value is None or value == "":
        return True
    if isinstance(value, float):
        return value >= 0.5
    if isinstance(value, str):
        word = value.lower().split()[0].strip(".,;:!") if value.strip() else ""
        return TRUTHS.get(word, value)
    return value


Number = Annotated[int, BeforeValidator(_number)]
Truth = Annotated[bool, BeforeValidator(_read_truth)]
Names = Annotated[list[str], BeforeValidator(_read_names), Field(default_factory=list)]
Words = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
T = TypeVar("T")


def limit_chars(chars: int) -> Any:
    """Bound a text's characters in schemas.

    A longer text is cut, not refused.
    """
    return Field(json_schema_extra={"maxLength": chars})


def limit_length(items: int, least: int = 0) -> Any:
    """Bound the length of a list in schemas.

    Items beyond the bounds are left out, not refused.
    """
    return Field(json_schema_extra={"maxItems": items, **({"minItems": least} if least else {})})


Several = Annotated[
    list[T],
    WrapValidator(_keep_good_ones),
    BeforeValidator(read_several),
    Field(default_factory=list),
]
