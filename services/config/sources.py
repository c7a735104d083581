"""Settings from presets, a TOML file, the environment and flags, later wins; every value knows
where it came from."""

import difflib
import json
import os
import re
import tomllib
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from propagation.model.errors import PropagationError
from services.config.settings import PRESETS, Settings

PREFIX = "PROPAGATION_"
DEFAULT_FILE = Path("propagation.toml")
PRESET = "preset"
UNPREFIXED = "workflow."
NOT_SETTINGS = frozenset(
    {"CONFIG", "ADDRESS", "TOKEN", "TLS", "TLS_CA", "TLS_CERTIFICATE", "TLS_KEY"}
)
DEFAULT = "default"
PASSWORD = re.compile(r"(\w://[^/\s:@]*:)[^/\s]*@")


class SettingsError(PropagationError):
    """A setting is unknown or has a value that it cannot have; names key, value, limit and source."""


@dataclass(frozen=True)
class Given:
    """A value as somebody wrote it, and where: "default", "preset paper", a file, a variable or a
    flag."""

    value: object
    origin: str


@dataclass(frozen=True)
class Loaded:
    """The settings in force. `origins` has every key; those of untouched keys are "default"."""

    settings: Settings
    origins: Mapping[str, str]

    def shown(self) -> list[tuple[str, object, str]]:
        """(key, value, origin) of every setting, in order of definition; secrets masked."""
        values = dict(leaves(self.settings))
        return [
            (key, _without_password(values[key]), origin) for key, origin in self.origins.items()
        ]


def _without_password(value: object) -> object:
    """An address may hold one: http://name:password@host."""
    return PASSWORD.sub(r"\1**********@", value) if isinstance(value, str) else value


def load_settings(
    config: Path | None, environment: Mapping[str, str], flags: Mapping[str, Given]
) -> Loaded:
    """`config`: a file that must exist; None: propagation.toml of the working directory, where
    there is one. Raises SettingsError."""
    given = _from_file(config)
    given |= _from_environment(environment)
    given |= flags
    given = _with_preset(given)
    _refuse_unknown(given)
    return Loaded(
        _validated(given), {key: given[key].origin if key in given else DEFAULT for key in keys()}
    )


def parse_assignments(assignments: Sequence[str]) -> dict[str, Given]:
    """KEY=VALUE of the flag --set. Raises SettingsError."""
    pairs = [assignment.partition("=") for assignment in assignments]
    for key, equals, _ in pairs:
        if not equals or not key:
            raise SettingsError(f"--set {key}: give KEY=VALUE, for example --set taste.k=40")
    return {key.strip(): Given(value, "flag --set") for key, _, value in pairs}


def variable_of(key: str) -> str:
    """The environment's name of a key: server.port is PROPAGATION_SERVER__PORT."""
    return PREFIX + key.replace(".", "__").upper()


def keys() -> list[str]:
    """Every key there is, as a person writes it."""
    return [key for key, _ in leaves(Settings())]


def leaves(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, object]]:
    """(key, value) of every setting below a model, secrets masked."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield (
                f"{prefix}{name}".removeprefix(UNPREFIXED),
                str(value) if isinstance(value, SecretStr) else value,
            )


def _from_file(config: Path | None) -> dict[str, Given]:
    path = config or DEFAULT_FILE
    if config is None and not path.exists():
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError(
            f"{path}: {error.strerror}; name a readable settings file with --config"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not TOML: {error}") from error
    return {key: Given(value, f"file {path}") for key, value in _flattened(tables)}


def _flattened(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _from_environment(environment: Mapping[str, str]) -> dict[str, Given]:
    names = [
        name
        for name in sorted(environment)
        if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in NOT_SETTINGS
    ]
    return {
        name.removeprefix(PREFIX).replace("__", ".").lower(): Given(
            environment[name], f"environment {name}"
        )
        for name in names
    }


def _with_preset(given: Mapping[str, Given]) -> dict[str, Given]:
    """What the chosen preset says, below everything that was given besides it."""
    chosen = given.get(PRESET)
    rest = {key: value for key, value in given.items() if key != PRESET}
    if chosen is None:
        return rest
    if chosen.value not in PRESETS:
        raise SettingsError(
            f"{PRESET} is {chosen.value!r} ({chosen.origin}); presets are: {', '.join(PRESETS)}"
        )
    return {
        key: Given(value, f"preset {chosen.value}")
        for key, value in PRESETS[str(chosen.value)].items()
    } | rest


def _refuse_unknown(given: Mapping[str, Given]) -> None:
    known = keys()
    for key, value in given.items():
        if key not in known:
            near = difflib.get_close_matches(key, [*known, PRESET], 1)
            hint = f"did you mean {near[0]}?" if near else "`propagation settings` lists all"
            raise SettingsError(f"{key} ({value.origin}) is no setting; {hint}")


def _validated(given: Mapping[str, Given]) -> Settings:
    tree: dict[str, Any] = {}
    for key, value in given.items():
        place, names = tree, path_of(key)
        for name in names[:-1]:
            place = place.setdefault(name, {})
        place[names[-1]] = _parsed(key, value)
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        raise SettingsError(_sentence(error.errors()[0], given)) from error


def path_of(key: str) -> list[str]:
    """The fields that lead to a key's value in Settings."""
    names = key.split(".")
    return names if names[0] in Settings.model_fields else ["workflow", *names]


def _parsed(key: str, given: Given) -> object:
    """Text of a variable or a flag as what the field takes: `none` for an optional one, JSON for a
    list."""
    annotation = _annotation(path_of(key))
    if isinstance(given.value, bool) and annotation is not bool:
        raise SettingsError(
            f"{key} is {given.value} ({given.origin}): true and false are for switches"
        )
    if not isinstance(given.value, str) or given.origin.startswith(("file", "preset")):
        return given.value
    options = (
        get_args(annotation)
        if get_origin(annotation) in (Union, types.UnionType)
        else (annotation,)
    )
    if types.NoneType in options and given.value.lower() in ("", "none"):
        return None
    if any(get_origin(option) in (tuple, list) for option in options):
        return _json_list(key, given)
    return given.value


def _json_list(key: str, given: Given) -> object:
    try:
        return json.loads(str(given.value))
    except json.JSONDecodeError as error:
        raise SettingsError(
            f'{key} is {given.value!r} ({given.origin}): give a JSON list, for example ["a", "b"]'
        ) from error


def _annotation(names: Sequence[str]) -> Any:
    model: Any = Settings
    for name in names[:-1]:
        model = model.model_fields[name].annotation
    return model.model_fields[names[-1]].annotation


def _sentence(error: ErrorDetails, given: Mapping[str, Given]) -> str:
    """One line: key, value, where it came from, and what it may be."""
    key = ".".join(str(part) for part in error["loc"]).removeprefix(UNPREFIXED)
    source = given.get(key)
    problem = (
        error["msg"]
        .replace("Input should", "must")
        .replace("String should", "must")
        .replace("Value error, ", "")
    )
    if source is None:
        return f"{key or 'settings'}: {problem}"
    return f"{key} is {'a secret' if is_secret(key) else repr(_without_password(source.value))} ({source.origin}): {problem}"


def is_secret(key: str) -> bool:
    """Whether a key's value is shown to nobody."""
    return SecretStr in (annotation := _annotation(path_of(key)), *get_args(annotation))


def from_process(config: Path | None, flags: Mapping[str, Given]) -> Loaded:
    """The same with this process' environment; PROPAGATION_CONFIG names the file where no flag
    does."""
    named = os.environ.get(f"{PREFIX}CONFIG")
    return load_settings(config or (Path(named) if named else None), os.environ, flags)
