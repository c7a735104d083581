"""Loads the store's Cypher statements from files, and checks their headers.

A file under cypher/ opens with the comment lines `// name: record/log/log_end`,
`// purpose: ...`, `// parameters: ids, now` (or none) and, where its plan scans a label,
`// scans: Client, why`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from propagation.model import BrokenData

FOLDER = "cypher"
SUFFIX = ".cypher"
OTHER_FOLDERS = frozenset({"schema", "inspect"})
HEADER = re.compile(r"^//\s*(name|purpose|parameters|scans)\s*:\s*(.*)$", re.MULTILINE)
NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|(?<!\$)`[^`]*`", re.DOTALL
)
PARAMETER = re.compile(r"\$(?:`([^`]*)`|(\w+))")


@dataclass(frozen=True)
class Statement:
    """One statement.

    Attributes:
        parameters: Exactly those that `text` uses.
        scans: The labels that its plan may scan as a whole, and why.
    """

    name: str
    purpose: str
    parameters: frozenset[str]
    scans: str
    text: str


def load_statements() -> Mapping[str, Statement]:
    """Load every statement of the store by name.

    Raises:
        BrokenData: The header of a file does not agree with its text.
    """
    return {
        name: parse_statement(name, file.read_text(encoding="utf-8"))
        for name, file in _walk(cypher_folder())
        if name.split("/")[0] not in OTHER_FOLDERS
    }


def cypher_folder() -> Traversable:
    """Return the folder of the Cypher files.

    It is installed next to the packages.
    """
    return files(FOLDER)


def parse_statement(name: str, text: str) -> Statement:
    """Parse a file whose path without the suffix is `name`.

    Raises:
        BrokenData: Its header does not agree with its text.
    """
    header = {key: value.strip() for key, value in HEADER.findall(text)}
    declared = frozenset(re.split(r"[,\s]+", header.get("parameters", ""))) - {"", "none"}
    used = frozenset(quoted or word for quoted, word in PARAMETER.findall(NOT_CODE.sub(" ", text)))
    missing = [key for key in ("name", "purpose", "parameters") if not header.get(key)]
    faults = {key: f"is missing; open the file with `// {key}: ...`" for key in missing}
    if not faults and header["name"] != name:
        faults["name"] = f"is {header['name']!r}; it must be the file's path, {name!r}"
    if not faults and used - declared:
        faults["parameters"] = f"does not name ${min(used - declared)}, which the statement uses"
    if not faults and declared - used:
        faults["parameters"] = f"names {min(declared - used)}, which the statement does not use"
    for key, fault in faults.items():
        raise BrokenData(name + SUFFIX, 1, key, fault)
    code = _without_comments(text).strip().removesuffix(";")
    return Statement(name, header["purpose"], declared, header.get("scans", ""), code)


def split_statements(text: str) -> list[str]:
    """Split a file into its statements, and drop the comments.

    Each statement is ended by `;`.
    """
    return [part.strip() for part in _without_comments(text).split(";") if part.strip()]


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("//"))


def _walk(folder: Traversable, path: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _walk(entry, f"{path}{entry.name}/")
        elif entry.name.endswith(SUFFIX):
            yield path + entry.name.removesuffix(SUFFIX), entry
