"""Output of commands: tables for people, JSON for programs, progress on terminals only."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


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
    """Print what a command did: as one JSON document, or as a sentence for people."""
    if json:
        print_json(document)
    else:
        console().print(sentence, markup=False)


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
    """Show a progress bar within the block; yields a function that takes done and total."""
    with progress_bar() as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _plain(value: Any) -> object:
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "item"):
        return value.item()
    return str(value)
