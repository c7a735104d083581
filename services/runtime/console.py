"""Output of commands: tables for people, JSON for programs, and progress.

Progress is shown on terminals only.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

AnswerT = TypeVar("AnswerT", bound=Message)
PIPED_WIDTH = 160


def console() -> "Console":
    """Return the console on stdout; plain when piped or NO_COLOR is set."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)


def print_json(value: object) -> None:
    """Print one JSON document: a line when piped, indented on a terminal."""
    print(
        json.dumps(
            value, ensure_ascii=False, default=_plain, indent=2 if sys.stdout.isatty() else None
        )
    )


def print_result(document: object, sentence: str, *, json: bool) -> None:
    """Print what a command did, as a sentence or as JSON."""
    if json:
        print_json(document)
    else:
        console().print(sentence, markup=False)


def print_answer(answer: AnswerT, show: Callable[[AnswerT], None], *, json: bool) -> None:
    """Print an answer of the service, by `show` or as JSON."""
    if json:
        print_json(answer)
    else:
        show(answer)


def print_json_line(value: object) -> None:
    """Print one of several JSON documents as a line, and flush it."""
    print(json.dumps(value, ensure_ascii=False, default=_plain), flush=True)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    numbers: Sequence[str] = (),
) -> None:
    """Print a table; the columns in `numbers` are right-aligned."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console().print(table)


def progress_bar() -> "Progress":
    """Make a progress bar on stderr, shown only on a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )


@contextmanager
def progress_of(name: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a progress bar within the block.

    Yields a function that takes done and total.
    """
    with progress_bar() as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _plain(value: Any) -> object:
    """Return a value that is no JSON value as one.

    Values inside it are converted in turn.
    """
    if isinstance(value, Timestamp):
        return value.ToJsonString()
    if isinstance(value, Message):
        return _fields(value)
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "item"):
        return value.item()
    return str(value)


def _fields(message: Message) -> dict[str, object]:
    """Return a message's fields under the proto's names.

    Every field is in it: numbers as numbers, enums by name, times in ISO 8601, absent optional
    fields as null. Of a oneof only the field that is set is in it.
    """
    return {
        field.name: _field_value(message, field)
        for field in message.DESCRIPTOR.fields
        if not _is_other_of_oneof(message, field)
    }


def _is_other_of_oneof(message: Message, field: Any) -> bool:
    oneof = field.containing_oneof
    return (
        oneof is not None and len(oneof.fields) > 1 and message.WhichOneof(oneof.name) != field.name
    )


def _field_value(message: Message, field: Any) -> object:
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict(value)
    if field.is_repeated:
        return [_element(field, element) for element in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _element(field, value)


def _element(field: Any, value: Any) -> object:
    return field.enum_type.values_by_number[value].name if field.enum_type is not None else value
