"""Queries of cypher/inspect/: description, sample parameters, and Cypher text.

A file has three parts: comment lines, the first of which is the question; `:params {...};`, a
command of Neo4j Browser, so that the file runs there unchanged; and one query.
"""

import re
from ast import literal_eval
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files

from services.client.errors import UsageProblem

SUFFIX = ".cypher"
LARGEST = (1 << 63) - 1
PARAMS = re.compile(r"^:params\s+\{(.*)\};\s*$", re.MULTILINE)
PARAMETER = re.compile(r"(\w+)\s*:\s*('(?:[^'\\]|\\.)*'|-?\d+(?:\.\d+)?)")
CLIENT = re.compile(r"(?:user|item):.+", re.DOTALL)
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z")
Value = str | int | float


@dataclass(frozen=True)
class InspectQuery:
    """One query.

    Attributes:
        about: The question, and a description of its answer.
        sample: The parameters that are written in the file.
        query: The Cypher text.
    """

    name: str
    about: str
    sample: Mapping[str, Value]
    query: str

    def parameters(self, given: Sequence[str]) -> dict[str, Value]:
        """Replace sample parameters by assignments KEY=VALUE, converted to the samples' types.

        Raises:
            UsageProblem: An assignment is malformed, or its value has the wrong type.
        """
        values = dict(self.sample)
        for assignment in given:
            key, equals, text = assignment.partition("=")
            if not equals or key not in values:
                raise UsageProblem(
                    f"--param {assignment}: give KEY=VALUE with a KEY of {', '.join(values)}"
                )
            values[key] = _convert(values[key], text, f"--param {assignment}: {key}")
            self._check(key, text)
        return values

    def _check(self, key: str, text: str) -> None:
        """Check a parameter: a client, a time or a listed word.

        The sample shows which of them it is; words are listed in the query's description.

        Raises:
            UsageProblem: The client or the time is malformed, or the word is not in the list.
        """
        sample = str(self.sample[key])
        if CLIENT.fullmatch(sample) and not CLIENT.fullmatch(text):
            raise UsageProblem(
                f"--param {key}={ascii(text)[1:-1]}: {key} must be user:ID or item:ID,"
                f" such as {sample}"
            )
        if TIME.fullmatch(sample):
            try:
                datetime.fromisoformat(text)
            except ValueError as error:
                raise UsageProblem(
                    f"--param {key}={ascii(text)[1:-1]}: {key} must be a time in UTC,"
                    f" such as {sample}"
                ) from error
        words = re.search(rf"\b{key}: (\w+) or (\w+)(?: ·|$)", self.about, re.MULTILINE)
        if words and text.casefold() not in (word.casefold() for word in words.groups()):
            raise UsageProblem(
                f"--param {key}={ascii(text)[1:-1]}: {key} must be {words[1]} or {words[2]}"
            )


def load_queries() -> dict[str, InspectQuery]:
    """Load all queries by name."""
    texts = {
        file.name.removesuffix(SUFFIX): file.read_text(encoding="utf-8")
        for file in (files("cypher") / "inspect").iterdir()
        if file.name.endswith(SUFFIX)
    }
    return {name: parse_query(name, text) for name, text in sorted(texts.items())}


def load_query(name: str) -> InspectQuery:
    """Load one query.

    Raises:
        UsageProblem: There is no query of this name.
    """
    known = load_queries()
    if name not in known:
        raise UsageProblem(
            f"there is no question {name!r}; `propagation inspect` lists them: {', '.join(known)}"
        )
    return known[name]


def parse_query(name: str, text: str) -> InspectQuery:
    """Parse the text of a query's file.

    Raises:
        ValueError: The text has no `:params` line.
    """
    params = PARAMS.search(text)
    if params is None:
        raise ValueError(f"inspect/{name}{SUFFIX} has no `:params {{...}};`")
    about = [line.removeprefix("//").strip() for line in text[: params.start()].splitlines()]
    # Texts and numbers are written in Cypher as in Python.
    sample = {key: literal_eval(value) for key, value in PARAMETER.findall(params.group(1))}
    return InspectQuery(name, "\n".join(about).strip(), sample, text[params.end() :].strip())


def format_parameters(parameters: Mapping[str, Value]) -> str:
    """Format parameters as assignments."""
    return ", ".join(f"{key}={value}" for key, value in parameters.items())


def _convert(sample: Value, text: str, what: str) -> Value:
    """Convert text to the type of a sample.

    Raises:
        UsageProblem: The text does not have this type, or is beyond what the graph can hold.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageProblem(f"{ascii(what)[1:-1]} is not UTF-8") from error
    try:
        value = type(sample)(text)
    except ValueError as error:
        raise UsageProblem(f"{what} must be a number, such as {sample}") from error
    if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
        raise UsageProblem(
            f"{what} must be at most {LARGEST}, the largest number that a graph holds"
        )
    return value
