"""Settings from presets, a TOML file, the environment and flags; later wins.

pydantic-settings was tried and does less: it keeps no source for each value, ignores unknown
variables, and knows no short name for a nested setting (`taste.k` for `workflow.taste.k`).
"""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, reduce
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from propagation.model import PropagationError, describe_problem
from services.config.settings import PRESETS, Settings
from services.config.units import UNITS

PREFIX = "PROPAGATION_"
DEFAULT_FILE = Path("propagation.toml")
PRESET = "preset"
# A table and a key of a TOML file, and what is left out of their names.
TABLE_LINE = re.compile(r"\s*\[\s*([A-Za-z0-9_.\"' -]+?)\s*\]\s*(?:#.*)?$")
KEY_LINE = re.compile(r"\s*([A-Za-z0-9_.\"'-][A-Za-z0-9_.\"' -]*?)\s*=")
NAME_PARTS = re.compile(r"[\"'\s]")
OTHER_VARIABLES = frozenset(
    PREFIX + name
    for name in ("CONFIG", "ADDRESS", "TOKEN", "TLS", "TLS_CA", "TLS_CERTIFICATE", "TLS_KEY")
)
# The password of http://name:password@host, the key of https://key@host, and ?api-key=key.
SECRET_IN_URL = re.compile(
    r"(\w://[^/\s:@]*:)\S*(?=@)|(\w://)[^/\s@]+(?=@)"
    r"|([?&;#][^=&;\s]*(?:key|token|secret|pass|pwd|auth|cred|sig)[^=&;\s]*=)[^&;\s]+",
    re.IGNORECASE,
)


class SettingsError(PropagationError):
    """An unknown setting or an impossible value.

    The message names key, value, limit and source.
    """


class SourceKind(StrEnum):
    """A kind of place where a setting's value stands; later ones win."""

    DEFAULT = "default"
    PRESET = "preset"
    FILE = "file"
    ENVIRONMENT = "environment"
    FLAG = "flag"
    PROGRAM = "program"


@dataclass(frozen=True)
class SettingSource:
    """Where a setting's value comes from.

    Attributes:
        name: Of a preset, a file (its path), a variable or a flag; empty for other kinds.
        line: The line of a file, from 1; None if it is not known.
    """

    kind: SourceKind
    name: str = ""
    line: int | None = None

    def __str__(self) -> str:
        """Name the source for people."""
        place = f"{self.kind} {self.name}".rstrip()
        return place if self.line is None else f"{place}, line {self.line}"


@dataclass(frozen=True)
class Entry:
    """A value as it was written, and its source."""

    value: object
    source: SettingSource


@dataclass(frozen=True)
class Field:
    """The place of a setting in Settings, and its type.

    Attributes:
        path: The attributes that lead to the setting, from Settings on.
        types: Its type; if that is a union, also the union's members.
        shown: Whether its value may be shown; else the value may be a secret.
        meaning: Its description.
    """

    path: tuple[str, ...]
    types: tuple[Any, ...]
    shown: bool
    meaning: str


@dataclass(frozen=True)
class SettingInForce:
    """A setting, for people.

    Attributes:
        value: As it would be written in a file; None: unset. Of a secret: set, or not set.
        unit: Of a number; empty for others.
    """

    key: str
    value: str | None
    source: SettingSource
    meaning: str
    unit: str


@dataclass(frozen=True)
class LoadedSettings:
    """The settings in force, and the source of each key."""

    settings: Settings
    sources: Mapping[str, SettingSource]

    @classmethod
    def of(cls, settings: Settings) -> "LoadedSettings":
        """Return settings that a program made.

        What is no default has the source `program`.
        """
        defaults = Settings()
        return cls(
            settings,
            {
                key: SettingSource(
                    SourceKind.DEFAULT
                    if _read(settings, key) == _read(defaults, key)
                    else SourceKind.PROGRAM
                )
                for key in list_setting_fields()
            },
        )

    def describe(self) -> list[SettingInForce]:
        """Describe every setting in order of definition.

        Of a secret only whether it is set is said.
        """
        found = []
        for key, source in self.sources.items():
            field, value = list_setting_fields()[key], _read(self.settings, key)
            if SecretStr in field.types:
                is_set = isinstance(value, SecretStr) and bool(value.get_secret_value())
                shown: str | None = "set" if is_set else "not set"
            else:
                shown = _write_value(_mask(value))
            found.append(SettingInForce(key, shown, source, field.meaning, UNITS.get(key, "")))
        return found

    def rows(self) -> list[tuple[str, object, str]]:
        """List every setting in order of definition, with secrets masked.

        Returns:
            (key, value, source) of each setting.
        """
        return [
            (key, _mask(_read(self.settings, key)), str(source))
            for key, source in self.sources.items()
        ]


@cache
def list_setting_fields() -> Mapping[str, Field]:
    """Return every setting by the key that a person writes."""
    return {
        ".".join(field.path).removeprefix("workflow."): field
        for field in _list_fields_below(Settings, ())
    }


def _list_fields_below(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[Field]:
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from _list_fields_below(info.annotation, (*path, name))
        else:
            types = (info.annotation, *get_args(info.annotation))
            yield Field((*path, name), types, info.repr, info.description or "")


def _read(settings: Settings, key: str) -> object:
    """Return the value of a setting."""
    value: object = reduce(getattr, list_setting_fields()[key].path, settings)
    return value


def load_settings(
    config: Path | None, environment: Mapping[str, str], flags: Mapping[str, Entry]
) -> LoadedSettings:
    """Merge all sources and validate the result.

    Args:
        config: A file that must exist. None: the file that PROPAGATION_CONFIG names, else
            propagation.toml in the working directory, if there is one.
        environment: The process's variables, by name.
        flags: Entries by key; each source names the flag as the user wrote it.

    Raises:
        SettingsError: An unknown key, an impossible value or an unreadable file.
    """
    named = environment.get(f"{PREFIX}CONFIG")
    entries = _read_file(config or (Path(named) if named else None))
    entries |= {
        name.removeprefix(PREFIX).replace("__", ".").lower(): Entry(
            value, SettingSource(SourceKind.ENVIRONMENT, name)
        )
        for name, value in sorted(environment.items())
        if name.startswith(PREFIX) and name not in OTHER_VARIABLES
    }
    entries |= flags
    entries = _with_preset(entries)
    _refuse_unknown(entries)
    if policy := entries.get("policy"):
        # Imported only here: the import takes longer than all other settings together.
        from propagation.workflow.rounds.policies import ROUTING_POLICIES

        if policy.value not in ROUTING_POLICIES:
            raise SettingsError(
                f"policy is {policy.value!r} ({policy.source}): must be one of "
                + ", ".join(ROUTING_POLICIES)
            )
    default = SettingSource(SourceKind.DEFAULT)
    sources = {
        key: entries[key].source if key in entries else default for key in list_setting_fields()
    }
    return LoadedSettings(_validate(entries), sources)


def parse_assignments(assignments: Sequence[str]) -> dict[str, Entry]:
    """Parse KEY=VALUE of the flag --set.

    Raises:
        SettingsError: An assignment is malformed, or holds a secret, which other users of the
            machine would see.
    """
    entries = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        key = key.strip()
        if not equals or not key:
            raise SettingsError(f"--set {key}: give KEY=VALUE, for example --set taste.k=40")
        field = list_setting_fields().get(key)
        secret = field is not None and SecretStr in field.types and not _is_none(value)
        if secret or SECRET_IN_URL.search(value):
            raise SettingsError(
                f"--set {key}: a secret on the command line shows in the list of processes and in"
                f" the shell's history; give it as the variable {name_variable(key)}, or in a"
                " settings file that only you can read"
            )
        entries[key] = Entry(value, SettingSource(SourceKind.FLAG, "--set"))
    return entries


def name_variable(key: str) -> str:
    """Return the name of a setting's variable."""
    return PREFIX + key.replace(".", "__").upper()


def _read_file(config: Path | None) -> dict[str, Entry]:
    path = config or DEFAULT_FILE
    if config is None and not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8-sig")
        tables = tomllib.loads(text)
    except OSError as error:
        raise SettingsError(
            f"{path}: {error.strerror}; name a readable settings file with --config"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not TOML: {error}") from error
    lines = find_lines(text)
    return {
        key: Entry(value, SettingSource(SourceKind.FILE, str(path.absolute()), lines.get(key)))
        for key, value in _flatten(tables)
    }


def find_lines(text: str) -> dict[str, int]:
    """Find the lines of a TOML file on which keys stand.

    The parser does not tell lines, so this reads tables and keys in their usual form. Keys of
    inline tables, and keys that seem to stand on several lines, are left out.

    Returns:
        Numbers of lines, from 1, by key with its tables.
    """
    found: dict[str, list[int]] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := TABLE_LINE.match(line):
            table = f"{NAME_PARTS.sub('', head[1])}."
        elif key := KEY_LINE.match(line):
            found.setdefault(table + NAME_PARTS.sub("", key[1]), []).append(number)
    return {key: numbers[0] for key, numbers in found.items() if len(numbers) == 1}


def _flatten(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _with_preset(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Replace the chosen preset by its values; other entries win over these.

    Raises:
        SettingsError: There is no such preset.
    """
    chosen = entries.pop(PRESET, None)
    if chosen is None:
        return entries
    if chosen.value not in PRESETS:
        raise SettingsError(
            f"{PRESET} is {chosen.value!r} ({chosen.source}); presets are: {', '.join(PRESETS)}"
        )
    return {
        key: Entry(value, SettingSource(SourceKind.PRESET, str(chosen.value)))
        for key, value in PRESETS[str(chosen.value)].items()
    } | entries


def _refuse_unknown(entries: Mapping[str, Entry]) -> None:
    for key, entry in entries.items():
        if key not in list_setting_fields():
            near = difflib.get_close_matches(key, [*list_setting_fields(), PRESET], 1)
            hint = f"did you mean {near[0]}?" if near else "`propagation settings` lists all"
            raise SettingsError(f"{key} ({entry.source}) is not a setting; {hint}")


def _validate(entries: Mapping[str, Entry]) -> Settings:
    tree: dict[str, Any] = {}
    for key, entry in entries.items():
        *parents, name = list_setting_fields()[key].path
        branch = tree
        for parent in parents:
            branch = branch.setdefault(parent, {})
        branch[name] = _convert_value(key, entry)
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        raise SettingsError(_write_sentence(error.errors()[0], entries)) from error


def _convert_value(key: str, entry: Entry) -> object:
    """Return the value to validate; `none` unsets an optional setting.

    Raises:
        SettingsError: true or false is given to a setting that is no switch.
    """
    types = list_setting_fields()[key].types
    if isinstance(entry.value, bool) and bool not in types:
        hint = "; none switches it off" if NoneType in types else ""
        raise SettingsError(
            f"{key} is {entry.value} ({entry.source}): true and false are for switches{hint}"
        )
    return None if _is_none(entry.value) and NoneType in types else entry.value


def _is_none(value: object) -> bool:
    return isinstance(value, str) and value.lower() in ("", "none")


def _write_sentence(error: ErrorDetails, entries: Mapping[str, Entry]) -> str:
    """Say in one line: key, value, source, and the allowed values."""
    key = ".".join(str(part) for part in error["loc"]).removeprefix("workflow.")
    problem = describe_problem(error["msg"])
    entry = entries.get(key)
    if entry is None:
        return f"{key or 'settings'}: {problem}"
    field = list_setting_fields()[key]
    secret = SecretStr in field.types or not field.shown
    value = "a secret" if secret else repr(_mask(entry.value))
    return f"{key} is {value} ({entry.source}): {problem}"


def _write_value(value: object) -> str | None:
    """Write a value as a settings file would; None: unset."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _mask(value: object) -> object:
    """Hide a secret, also one within a URL."""
    if isinstance(value, SecretStr):
        return str(value)
    return SECRET_IN_URL.sub(r"\1\2\3**********", value) if isinstance(value, str) else value
