"""Write the site's reference of the proto, commands and settings."""

import inspect
import re
import tempfile
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import typer
from google.protobuf import descriptor_pb2
from grpc_tools import protoc
from pydantic import BaseModel
from typer.core import TyperGroup

ROOT = Path(__file__).parent.parent
PROTO = "propagation/v1/propagation.proto"
# Field numbers of FileDescriptorProto, DescriptorProto, ... that paths of comments are made of.
MESSAGES, ENUMS, SERVICES, SYNTAX = 4, 5, 6, 12
FIELDS, NESTED_MESSAGES, NESTED_ENUMS, VALUES, METHODS = 2, 3, 4, 2, 2
REPEATED = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED


def write_reference(folder: Path) -> None:
    """Write proto.md, command_line.md and settings.md into `folder`."""
    folder.mkdir(exist_ok=True)
    for name, lines in (
        ("proto", proto_page()),
        ("command_line", command_line_page()),
        ("settings", settings_page()),
    ):
        (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def proto_page() -> Iterator[str]:
    """Every call, message and enum of the service, with its comment."""
    file = _proto_file()
    comments = {
        tuple(place.path): inspect.cleandoc(place.leading_comments)
        for place in file.source_code_info.location
        if place.leading_comments
    }
    yield "# The proto\n"
    yield f"Generated from `proto/{PROTO}`.\n"
    yield comments[(SYNTAX,)] + "\n"
    for index, service in enumerate(file.service):
        yield f"## Service {service.name}\n"
        yield comments.get((SERVICES, index), "") + "\n"
        for place, method in enumerate(service.method):
            yield f"### {method.name}\n"
            request = f"{'stream ' if method.client_streaming else ''}{_short(method.input_type)}"
            answer = f"{'stream ' if method.server_streaming else ''}{_short(method.output_type)}"
            yield f"`{method.name}({request}) returns ({answer})`\n"
            yield comments.get((SERVICES, index, METHODS, place), "") + "\n"
    yield "## Messages\n"
    for index, message in enumerate(file.message_type):
        yield from _message(message, (MESSAGES, index), message.name, comments)
    yield "## Enums\n"
    for index, enum in enumerate(file.enum_type):
        yield from _enum(enum, (ENUMS, index), enum.name, comments)


def command_line_page() -> Iterator[str]:
    """Every command with its options."""
    from services.cli.app import app

    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    yield "# The command line\n"
    yield "`propagation COMMAND --help` prints the same.\n"
    yield f"{group.epilog}\n"
    yield from _commands(group, "propagation")


def settings_page() -> Iterator[str]:
    """Every setting with its type, default and meaning."""
    from services.config.settings import PRESETS, Settings

    yield "# Settings\n"
    yield (
        "A setting comes from a preset, a TOML file (`--config FILE`), the environment, or "
        "`--set NAME=VALUE`; the later one wins. In the environment `taste.k` is "
        "`PROPAGATION_TASTE__K`. `propagation settings` prints the values in force and where each "
        "comes from.\n"
    )
    yield "| setting | type | default | meaning |"
    yield "|---|---|---|---|"
    for name, kind, default, meaning in _settings(Settings, ""):
        yield f"| `{name}` | {_cell(kind)} | {_cell(default)} | {_cell(meaning)} |"
    yield "\n## Presets\n"
    for name, values in PRESETS.items():
        yield f"`preset={name}`: " + ", ".join(f"`{key}={value}`" for key, value in values.items())


def _proto_file() -> descriptor_pb2.FileDescriptorProto:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "set.binpb"
        status = protoc.main(
            [
                "protoc",
                f"--proto_path={ROOT / 'proto'}",
                f"--proto_path={files('grpc_tools') / '_proto'}",
                "--include_source_info",
                f"--descriptor_set_out={target}",
                PROTO,
            ]
        )
        if status:
            raise RuntimeError(f"protoc could not read proto/{PROTO}")
        return descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes()).file[0]


def _message(
    message: descriptor_pb2.DescriptorProto,
    path: tuple[int, ...],
    name: str,
    comments: dict[tuple[int, ...], str],
) -> Iterator[str]:
    if message.options.map_entry:
        return
    yield f"### {name}\n"
    yield comments.get(path, "") + "\n"
    if message.field:
        yield "| field | type | meaning |"
        yield "|---|---|---|"
        for place, field in enumerate(message.field):
            yield (
                f"| `{field.name}` | {_type(field)} "
                f"| {_cell(comments.get((*path, FIELDS, place), ''))} |"
            )
        yield ""
    for place, nested in enumerate(message.nested_type):
        yield from _message(
            nested, (*path, NESTED_MESSAGES, place), f"{name}.{nested.name}", comments
        )
    for place, enum in enumerate(message.enum_type):
        yield from _enum(enum, (*path, NESTED_ENUMS, place), f"{name}.{enum.name}", comments)


def _enum(
    enum: descriptor_pb2.EnumDescriptorProto,
    path: tuple[int, ...],
    name: str,
    comments: dict[tuple[int, ...], str],
) -> Iterator[str]:
    yield f"### {name}\n"
    yield comments.get(path, "") + "\n"
    yield "| value | meaning |"
    yield "|---|---|"
    for place, value in enumerate(enum.value):
        yield f"| `{value.name}` | {_cell(comments.get((*path, VALUES, place), ''))} |"
    yield ""


def _type(field: descriptor_pb2.FieldDescriptorProto) -> str:
    kinds = descriptor_pb2.FieldDescriptorProto.Type
    kind = (
        _short(field.type_name)
        if field.type_name
        else kinds.Name(field.type).removeprefix("TYPE_").lower()
    )
    prefix = (
        "repeated " if field.label == REPEATED else "optional " if field.proto3_optional else ""
    )
    return f"{prefix}{kind}"


def _commands(group: TyperGroup, path: str) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        context = typer.Context(command)
        yield f"## {path} {name}\n"
        yield (command.help or "").strip() + "\n"
        if isinstance(command, TyperGroup):
            yield from _commands(command, f"{path} {name}")
            continue
        records = [record for one in command.params if (record := one.get_help_record(context))]
        yield from _options(records)


def _options(records: Sequence[tuple[str, str]]) -> Iterator[str]:
    if not records:
        return
    yield "| argument or option | meaning |"
    yield "|---|---|"
    for name, meaning in records:
        yield f"| `{name}` | {_cell(meaning)} |"
    yield ""


def _settings(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            # The workflow's own settings are written without a prefix.
            yield from _settings(kind, prefix if name == "workflow" else f"{prefix}{name}.")
            continue
        default = "none" if field.default is None else str(field.default)
        meaning = " ".join(part for part in (field.description, _bounds(field.metadata)) if part)
        yield f"{prefix}{name}", _kind(kind), f"`{default}`", meaning


def _bounds(constraints: Sequence[object]) -> str:
    """The limits of a value in words."""
    words = {
        "gt": "above {}",
        "ge": "at least {}",
        "lt": "below {}",
        "le": "at most {}",
        "min_length": "at least {} characters",
        "max_length": "at most {} characters",
        "pattern": "matches `{}`",
    }
    found = [
        text.format(value)
        for constraint in constraints
        for name, text in words.items()
        if (value := getattr(constraint, name, None)) is not None
    ]
    return f"({', '.join(found)})" if found else ""


def _kind(kind: object) -> str:
    text = kind.__name__ if isinstance(kind, type) else str(kind)
    text = re.sub(r"Annotated\[(\w+), [^\]]*\]", r"\1", text)
    return text.replace("typing.", "").replace("pathlib.", "").replace("pydantic.types.", "")


def _short(name: str) -> str:
    return name.rpartition(".")[2] if name.startswith(".propagation.") else name.lstrip(".")


def _cell(text: str) -> str:
    """Text that fits into a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
