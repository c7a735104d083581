"""The parts of an answer: found by their names, and checked against what was asked for."""

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from propagation.adapters.openai.answer_json import ParsedAnswer, plain
from propagation.adapters.openai.prompting.prompt import Wanted
from propagation.model import ReasonerFailed
from propagation.ports import AnswerPart

REASON_CHARS = 200
WRAPPERS = 8


def list_answer_names(wanted: Mapping[str, Wanted]) -> Collection[str]:
    """Return the names by which an answer is known: its parts, and the fields of a lone part."""
    fields = [name for one in wanted.values() for name in one.model.model_fields]
    return [*wanted, *(fields if len(wanted) == 1 else ())]


def match_parts(answer: ParsedAnswer, wanted: Mapping[str, Wanted]) -> ParsedAnswer:
    """Find the wanted parts, whatever the case of their names and the objects around them.

    An object that has the fields of the only wanted part is taken for that part.
    """
    names = {plain(name): name for name in wanted}
    value = answer.value
    for _ in range(WRAPPERS):
        found = {names[plain(name)]: part for name, part in value.items() if plain(name) in names}
        if found:
            exact = {name: value[name] for name in wanted if name in value}
            return ParsedAnswer({**found, **exact}, answer.fault)
        if len(wanted) == 1:
            [(name, one)] = wanted.items()
            fields = {plain(field) for field in one.model.model_fields}
            present = fields & {plain(field) for field in value}
            if present == fields or (present and not answer.fault):
                return ParsedAnswer({name: value}, answer.fault)
        inner = [part for part in value.values() if isinstance(part, dict)]
        if len(inner) != 1:
            break
        [value] = inner
    return answer


def check_part(answer: ParsedAnswer, name: str, wanted: Wanted) -> AnswerPart[Any]:
    """Read a part as what was asked for, or say in words for the model what is wrong with it."""
    if name not in answer.value:
        missing = f"{name}: the answer is {answer.fault}" if answer.fault else f"{name} is missing"
        return ReasonerFailed(missing)
    try:
        return wanted.read(wanted.model.model_validate(answer.value[name]))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in (name, *first["loc"]))
        return ReasonerFailed(f"{place}: {first['msg']}"[:REASON_CHARS])
    except ValueError as error:
        return ReasonerFailed(f"{name}.{error}"[:REASON_CHARS])
