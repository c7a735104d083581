"""Loads the store's Cypher statements from files.

A file under cypher/ begins with the comment lines `// name: record/log/log_end`,
`// purpose: ...`, `// parameters: ids, now` (or none) and, if its plan scans a label,
`// scans: Client, why`. A test checks that these lines agree with the statement.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable

SUFFIX = ".cypher"
OTHER_FOLDERS = frozenset({"schema", "inspect"})
PARAMETERS = re.compile(r"^// parameters: (.+)$", re.MULTILINE)
USE = re.compile(r"\$(\w+)")
PARAMETER_MAP = "parameters"
"""The only parameter that is sent: a map of all parameters."""


@dataclass(frozen=True)
class Statement:
    """The text of one statement, and the parameters that it takes."""

    parameters: frozenset[str]
    text: str

    @cached_property
    def sent(self) -> str:
        """The text as it is sent, with its parameters in one map.

        The server plans a statement anew for each combination of magnitudes of its list parameters,
        which took 0.5 s for the longest statement. It does not look for lists inside a map.
        """
        return USE.sub(rf"${PARAMETER_MAP}.\1", self.text)


def load_statements() -> Mapping[str, Statement]:
    """Load every statement by name, except those of schema/ and inspect/."""
    return {
        name: parse_statement(file.read_text(encoding="utf-8"))
        for name, file in _walk(find_cypher_folder())
        if name.split("/")[0] not in OTHER_FOLDERS
    }


def find_cypher_folder() -> Traversable:
    """Return the folder of the Cypher files.

    It is installed next to the packages.
    """
    return files("cypher")


def parse_statement(text: str) -> Statement:
    """Parse the text of a Cypher file with one statement."""
    declared = PARAMETERS.findall(text)[0].split(", ")
    return Statement(
        frozenset(declared) - {"none"}, _remove_comments(text).strip().removesuffix(";")
    )


def split_statements(text: str) -> list[str]:
    """Split a file into its statements, and drop the comments.

    Each statement ends with `;`.
    """
    return [part.strip() for part in _remove_comments(text).split(";") if part.strip()]


def _remove_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("//"))


def _walk(folder: Traversable, path: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _walk(entry, f"{path}{entry.name}/")
        elif entry.name.endswith(SUFFIX):
            yield path + entry.name.removesuffix(SUFFIX), entry
