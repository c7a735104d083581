"""The parts that were asked for, in whatever a model named and wrapped them, and what is wrong with
those that are not usable."""

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from propagation.adapters.openai.parsing.answer_text import Said, plain
from propagation.adapters.openai.prompting.prompt import Wanted
from propagation.model.errors import ReasonerFailed
from propagation.ports.reasoner import AnswerPart

WRONG_MAX = 200
WRAPPINGS_MAX = 8


def names_of(wanted: Mapping[str, Wanted]) -> Collection[str]:
    """What an answer to this is known by: its parts, and where there is one, what that holds: it
    may stand for the whole."""
    return [
        *wanted,
        *(name for one in wanted.values() if len(wanted) == 1 for name in one.model.model_fields),
    ]


def matched(said: Said, wanted: Mapping[str, Wanted]) -> Said:
    """Parts by the names that were asked for: out of an object around the answer ({"answer":
    {...}}), whatever their case and signs; an object that is the one part itself is that part."""
    by_plain = {plain(name): name for name in wanted}
    value: Mapping[str, Any] = said.value
    for _ in range(WRAPPINGS_MAX):
        found = {
            by_plain[plain(name)]: part for name, part in value.items() if plain(name) in by_plain
        }
        if found:
            return Said(
                {**found, **{name: value[name] for name in wanted if name in value}}, said.fault
            )
        if len(wanted) == 1:
            [(name, one)] = wanted.items()
            fields, given = (
                {plain(field) for field in one.model.model_fields},
                {plain(field) for field in value},
            )
            if fields & given and (
                not said.fault or fields <= given
            ):  # what is cut may lack what matters
                return Said({name: value}, said.fault)
        inner = [part for part in value.values() if isinstance(part, dict)]
        if len(inner) != 1:
            break
        [value] = inner
    return said


def checked(said: Said, name: str, wanted: Wanted) -> AnswerPart[Any]:
    """A part of an answer as what was asked for, or what is wrong with it in words for the model."""
    if name not in said.value:
        return ReasonerFailed(
            f"{name}: the answer is {said.fault}" if said.fault else f"{name} is missing"
        )
    try:
        return wanted.read(wanted.model.model_validate(said.value[name]))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in (name, *first["loc"]))
        return ReasonerFailed(f"{place}: {first['msg']}"[:WRONG_MAX])
    except ValueError as error:
        return ReasonerFailed(f"{name}.{error}"[:WRONG_MAX])
