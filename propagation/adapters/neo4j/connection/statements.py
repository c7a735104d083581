"""Statements from files: what each is called, what it is for, and which parameters it takes.

A file under cypher/ opens with comment lines, `// name: record/seen`, `// purpose: ...`, `//
parameters: ids, now` (or none) and, where its plan scans a label, `// scans: Client, why`. Files of
schema/ hold several statements, ended by `;`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from propagation.model.errors import BrokenData

FOLDER = "cypher"
SUFFIX = ".cypher"
NOT_STATEMENTS = frozenset({"schema", "inspect"})
HEADER = re.compile(r"^//\s*(name|purpose|parameters|scans)\s*:\s*(.*)$", re.MULTILINE)
NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|(?<!\$)`[^`]*`", re.DOTALL
)
PARAMETER = re.compile(r"\$(?:`([^`]*)`|(\w+))")


@dataclass(frozen=True)
class Statement:
    """`parameters`: exactly those that `text` uses. `scans`: labels that its plan may scan whole,
    and why."""

    name: str
    purpose: str
    parameters: frozenset[str]
    scans: str
    text: str


def load_statements(folder: Traversable | None = None) -> Mapping[str, Statement]:
    """Every statement of the store by name, checked. Raises BrokenData where a file's header and
    its text disagree."""
    root = folder or cypher_folder()
    return {
        statement.name: statement
        for place, file in _walk(root)
        if place.split("/")[0] not in NOT_STATEMENTS
        for statement in (parsed(place, file.read_text(encoding="utf-8")),)
    }


def cypher_folder() -> Traversable:
    """Where the files are: beside the packages, installed with them."""
    return files(FOLDER)


def parsed(place: str, text: str) -> Statement:
    """The statement of the file at `place` (its path without the suffix, which is its name). Raises
    BrokenData."""
    header = {key: value.strip() for key, value in HEADER.findall(text)}
    for key in ("name", "purpose", "parameters"):
        if not header.get(key):
            raise BrokenData(
                place + SUFFIX, 1, key, f"is missing; open the file with `// {key}: ...`"
            )
    if header["name"] != place:
        raise BrokenData(
            place + SUFFIX, 1, "name", f"is {header['name']!r}; name it as its path, {place!r}"
        )
    declared = (
        frozenset()
        if header["parameters"] == "none"
        else frozenset(re.split(r"[,\s]+", header["parameters"]))
    )
    used = frozenset(
        quoted or plain for quoted, plain in PARAMETER.findall(NOT_CODE.sub(" ", text))
    )
    if used - declared:
        raise BrokenData(
            place + SUFFIX,
            1,
            "parameters",
            f"does not name ${min(used - declared)}, which the statement uses",
        )
    if declared - used:
        raise BrokenData(
            place + SUFFIX,
            1,
            "parameters",
            f"names {min(declared - used)}, which the statement does not use",
        )
    return Statement(
        place, header["purpose"], declared, header.get("scans", ""), _without_header(text)
    )


def split_statements(text: str) -> list[str]:
    """Split a file of several statements, each ended by `;`, without its comments."""
    code = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    return [part.strip() for part in code.split(";") if part.strip()]


def _without_header(text: str) -> str:
    return (
        "\n".join(line for line in text.splitlines() if not line.startswith("//"))
        .strip()
        .removesuffix(";")
    )


def _walk(folder: Traversable, before: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _walk(entry, f"{before}{entry.name}/")
        elif entry.name.endswith(SUFFIX):
            yield before + entry.name.removesuffix(SUFFIX), entry
