"""Output of commands: tables for people, JSON for programs, and progress.

Progress is a bar on a terminal, and elsewhere a line a minute.
"""

import json
import re
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
PIPED_WIDTH = 160
FIRST_SECONDS, LINE_SECONDS = 10.0, 60.0
# Characters that show nothing, though Unicode does not call them format characters. U+FE0F is
# allowed after a sign of which it makes an emoji.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef]"
    "|(?<![#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff])\ufe0f"
)
# They join signs into one picture (a family, a profession), and letters of Arabic and of India's
# scripts; between other letters they would only hide.
JOINER = re.compile(
    "(?<=[\u203c-\u3299\ufe0f\U0001f000-\U0001faff])\u200d(?=[\u203c-\u3299\U0001f000-\U0001faff])"
    "|(?<=[\u0600-\u06ff\u0750-\u077f\u0900-\u0dff])[\u200c\u200d](?=[\u0600-\u06ff\u0750-\u077f\u0900-\u0dff])"
)


def make_printable(text: str) -> str:
    """Return foreign text as a terminal may show it, on one line.

    Control and format characters (escapes, line breaks, direction marks, zero width, tags) are
    written as Python escapes; spaces of every kind stay, and so do joiners where they join.
    """
    return _escape(text, lambda letter: ascii(letter)[1:-1])


def make_printable_lines(text: str) -> str:
    """Return foreign text as a terminal may show it, keeping line breaks."""
    return "\n".join(map(make_printable, text.split("\n")))


def _escape(text: str, escaped: Callable[[str], str]) -> str:
    if text.isascii() and text.isprintable():
        return text
    hidden = {found.start() for found in INVISIBLE.finditer(text)}
    joining = {found.start() for found in JOINER.finditer(text)}
    return "".join(
        letter
        if place in joining
        or (place not in hidden and (letter.isprintable() or unicodedata.category(letter) == "Zs"))
        else escaped(letter)
        for place, letter in enumerate(text)
    )


def make_printable_json(document: str) -> str:
    """Escape a JSON document for a terminal.

    A parser reads the same values from it.
    """
    return "\n".join(
        _escape(line, lambda letter: json.dumps(letter)[1:-1]) for line in document.split("\n")
    )


def print_text(*lines: str, wrap: bool = True) -> None:
    """Print lines that may hold foreign text, on stdout."""
    for line in lines:
        create_console().print(make_printable(line), markup=False, soft_wrap=not wrap)


def print_error(*lines: str) -> None:
    """Print lines that may hold foreign text, on stderr."""
    for line in lines:
        print(make_printable(line), file=sys.stderr)


def create_console() -> "Console":
    """Return the console on stdout; plain when piped or NO_COLOR is set."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)


def print_json(value: object, *, line: bool = False) -> None:
    """Print one JSON document, and flush it.

    On a terminal the document is indented, unless `line` is set. When piped, it is one line.
    """
    from pydantic_core import to_jsonable_python

    indent = 2 if sys.stdout.isatty() and not line else None
    plain = to_jsonable_python(value, bytes_mode="base64", fallback=_plain)
    print(make_printable_json(json.dumps(plain, ensure_ascii=False, indent=indent)), flush=True)


def print_answer(answer: T, show: Callable[[T], None], *, json: bool) -> None:
    """Print an answer of the service, by `show` or as JSON."""
    if json:
        print_json(answer)
    else:
        show(answer)


def print_result(document: object, *lines: str, json: bool) -> None:
    """Print what a command did, in lines of text or as JSON."""
    print_answer(document, lambda _: print_text(*lines), json=json)


def print_rows(
    document: object,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    numbers: Sequence[str] = (),
    *,
    json: bool,
) -> None:
    """Print what a command found, as a table or as JSON."""
    print_answer(document, lambda _: print_table("", columns, rows, numbers), json=json)


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

    table = Table(
        title=Text(make_printable(title), "table.title") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in columns:
        table.add_column(
            Text(make_printable(name)),
            justify="right" if name in numbers else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(make_printable(str(cell))) for cell in row))
    create_console().print(table)


class CountProgress(Protocol):
    """Takes what is done, the total (None: not known), and a note."""

    def __call__(self, done: int, total: int | None, note: str = "") -> None: ...


class ProgressLines:
    """Lines on stderr about the work done and the time left.

    The first line comes soon after the first part of the work is done, about FIRST_SECONDS after
    the first count. A thread prints the lines, because minutes may pass between two counts.

    Args:
        name: The name of the work, at the start of each line.
        seconds: The time between two lines; None: LINE_SECONDS.
    """

    def __init__(self, name: str, seconds: float | None = None) -> None:
        self._name = name
        self._begun = time.monotonic()
        self._seconds = seconds or LINE_SECONDS
        self._next = self._begun + self._seconds
        self._done = 0
        self._note = ""
        self._total: int | None = None
        self._first: tuple[float, int] | None = None
        self._ended = threading.Event()

    def count(self, done: int, total: int | None, note: str = "") -> None:
        """Record progress: `done` of `total`; None if the total is not known.

        Args:
            note: Follows the name of the work.
        """
        self._note = note
        if self._first is None:
            self._first = (time.monotonic(), done)
        elif self._done == self._first[1] < done:  # the first part is done
            self._next = min(self._next, self._first[0] + min(FIRST_SECONDS, self._seconds))
        self._done, self._total = done, total

    @contextmanager
    def print_meanwhile(self) -> Iterator[None]:
        """Print lines within the block."""
        thread = threading.Thread(target=self._print_until_ended, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _print_until_ended(self) -> None:
        while not self._ended.wait(max(min(self._next - time.monotonic(), FIRST_SECONDS), 0.01)):
            now = time.monotonic()
            if now >= self._next:
                print_error(self._line(now))
                self._next = now + self._seconds

    def _line(self, now: float) -> str:
        passed = f"{self._name}{self._note}: {_format_minutes(now - self._begun)} passed"
        if self._first is None:
            return f"{passed}; nothing is counted yet"
        if self._total is None:
            return f"{passed}; {self._done:,} done"
        counted = f"{passed}; {self._done:,} of {self._total:,} done"
        since, before = self._first
        if self._done <= before:
            return counted
        seconds = (self._total - self._done) * (now - since) / (self._done - before)
        return f"{counted}; about {_format_minutes(seconds)} left"


def _format_minutes(seconds: float) -> str:
    """Return a duration as a person says it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def show_progress(name: str, seconds: float | None = None) -> Iterator[CountProgress]:
    """Show progress on stderr: a bar on a terminal, else lines.

    Yields a function that takes done, total and a note that follows the name.
    """
    if not sys.stderr.isatty():
        lines = ProgressLines(name, seconds)
        with lines.print_meanwhile():
            yield lines.count
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(make_printable(name), total=None)

        def count(done: int, total: int | None, note: str = "") -> None:
            shown = make_printable(name + note)
            bar.update(task, completed=done, total=total, description=shown)

        yield count


def _plain(value: Any) -> object:
    """Return a value as one that pydantic can write as JSON.

    Values inside it are converted in turn.
    """
    if isinstance(value, Timestamp):
        return value.ToJsonString()
    if isinstance(value, Message):
        return _list_fields(value)
    return value.item() if hasattr(value, "item") else str(value)


def _list_fields(message: Message) -> dict[str, object]:
    """Return a message's fields under the proto's names.

    Every field is included: numbers as numbers, enums by name, times in ISO 8601, absent optional
    fields as null. Of a oneof, only the field that is set is included.
    """
    return {
        field.name: _format_field_value(message, field)
        for field in message.DESCRIPTOR.fields
        if not _is_other_of_oneof(message, field)
    }


def _is_other_of_oneof(message: Message, field: Any) -> bool:
    oneof = field.containing_oneof
    return (
        oneof is not None and len(oneof.fields) > 1 and message.WhichOneof(oneof.name) != field.name
    )


def _format_field_value(message: Message, field: Any) -> object:
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict(value)
    if field.is_repeated:
        return [_format_element(field, element) for element in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _format_element(field, value)


def _format_element(field: Any, value: Any) -> object:
    return field.enum_type.values_by_number[value].name if field.enum_type is not None else value
