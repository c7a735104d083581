"""Load a folder as a dataset; its file names show the format."""

import fnmatch
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from propagation.datasets.dataset import Dataset, Events, assemble
from propagation.datasets.line_reader import IdChecker, Place, clean_name, find_all, number_lines
from propagation.datasets.movielens import load_movielens, load_movielens_100k
from propagation.datasets.recbole import load_recbole
from propagation.model import (
    BrokenData,
    ClientChange,
    ClientKey,
    ClientKind,
    check_metadata,
    check_negative,
    check_weight,
    describe_problem,
)

CLIENTS, EVENTS = "clients.jsonl", "events.jsonl"
LISTS = ("attributes", "categories")
Id = str | int


class JsonObject(BaseModel):
    """An object of a JSON file, with fields of exactly these types.

    Null counts as missing.
    """

    model_config = ConfigDict(strict=True)
    metadata: dict[str, str | int | float | bool | None] | None = None

    def read_metadata_texts(self, place: Place) -> Mapping[str, str]:
        """Check the metadata and return it as texts.

        Values that are not strings are kept as JSON writes them.
        """
        texts = {
            name: part if isinstance(part, str) else json.dumps(part)
            for name, part in (self.metadata or {}).items()
            if part is not None
        }
        return place.check(check_metadata, texts, "metadata")


class ClientObject(JsonObject):
    """A line of clients.jsonl."""

    kind: Literal["user", "item"]
    id: Id
    title: str | None = None
    description: str | None = None
    attributes: list[str] | None = None
    categories: list[str] | None = None
    hidden: bool | None = None


class EventObject(JsonObject):
    """A line of events.jsonl."""

    user_id: Id
    item_id: Id
    event_id: Id | None = None
    negative_item_id: Id | None = None
    time: int | float | str | None = None
    weight: float | None = None

    def milliseconds(self, place: Place) -> int | None:
        """Check the time and return it in milliseconds since 1970.

        Returns:
            None if the event has no time.
        """
        if self.time is None:
            return None
        return (
            place.parse_iso_time(self.time, "time")
            if isinstance(self.time, str)
            else place.parse_unix_time(repr(self.time), "time")
        )


Kind = TypeVar("Kind", bound=JsonObject)


def load_json_lines(folder: Path, seed: int) -> Dataset:
    """Load clients.jsonl and events.jsonl; either may be missing.

    Raises:
        BrokenData: The first line that cannot be read.
    """
    ids = IdChecker(strip=False)
    clients = _read_clients(folder, ids)
    events = _read_events(folder, ids)
    notes = (
        () if events.timed else (f"{EVENTS} has no times: its events are in the order of lines.",)
    )
    return assemble(
        folder.name,
        clients[ClientKind.ITEM],
        clients[ClientKind.USER],
        events,
        seed,
        notes,
        timed=events.timed,
    )


def _read_objects(folder: Path, file: str, kind: type[Kind]) -> Iterator[tuple[Place, Kind]]:
    """Read the objects of a file that may be missing."""
    for place, text in chain.from_iterable(map(number_lines, find_all(folder, file))):
        values = _parse(text, place)
        for name in values.keys() - kind.model_fields.keys():
            raise place.refusal(
                _shorten_for_message(name),
                f"is not known here; the fields are {', '.join(sorted(kind.model_fields))}",
            )
        try:
            row = kind.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            name, *inner = map(str, first["loc"])
            field = f"{name}[{inner[0]}]" if name in LISTS and inner else name
            raise place.refusal(field, describe_problem(first["msg"])) from None
        yield place, row


def _parse(text: str, place: Place) -> Mapping[str, object]:
    try:
        values = json.loads(text, object_pairs_hook=partial(_read_object, place))
    except json.JSONDecodeError as error:
        raise place.refusal("", f"is not JSON ({error})") from None
    except (ValueError, RecursionError):
        raise place.refusal(
            "",
            "cannot be read: it is nested too deeply, or holds a number with thousands of digits",
        ) from None
    if not isinstance(values, dict):
        raise place.refusal("", "is not a JSON object")
    return values


def _read_object(place: Place, pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        second = next(name for at, name in enumerate(names) if name in names[:at])
        raise place.refusal(
            _shorten_for_message(second), "appears twice in one object; keep one of them"
        )
    return values


def _shorten_for_message(name: str) -> str:
    return name[:60].encode(errors="backslashreplace").decode()


def _read_clients(folder: Path, ids: IdChecker) -> dict[ClientKind, dict[str, ClientChange]]:
    found: dict[ClientKind, dict[str, ClientChange]] = {kind: {} for kind in ClientKind}
    for place, row in _read_objects(folder, CLIENTS, ClientObject):
        kind = ClientKind[row.kind.upper()]
        name = ids.check_first(str(row.id), place, "id", found[kind])
        found[kind][name] = place.client(
            ClientChange(
                key=ClientKey(kind=kind, id=name),
                title=row.title,
                description=row.description,
                attributes=tuple(row.attributes or ()) or None,
                categories=tuple(row.categories or ()) or None,
                hidden=row.hidden,
                metadata=row.read_metadata_texts(place) or None,
            )
        )
    return found


def _read_events(folder: Path, ids: IdChecker) -> Events:
    log, timed, event_ids = Events("jsonl"), None, set[str]()
    for place, row in _read_objects(folder, EVENTS, EventObject):
        time = row.milliseconds(place)
        timed = time is not None if timed is None else timed
        if timed != (time is not None):
            raise place.refusal("time", "is on some lines only; give it on all lines or on none")
        item = ids.check(str(row.item_id), place, "item_id")
        event_id = _read_optional_id(row.event_id, place, "event_id", ids)
        negative = _read_optional_id(row.negative_item_id, place, "negative_item_id", ids)
        if event_id in event_ids:
            raise place.refusal(
                "event_id", f"{event_id!r} was used on an earlier line; give this event its own id"
            )
        if event_id is not None:
            event_ids.add(event_id)
        log.append(
            ids.check(str(row.user_id), place, "user_id"),
            item,
            len(log) if time is None else time,
            row.read_metadata_texts(place),
            event_id=event_id,
            negative=place.check(partial(check_negative, item), negative, "negative_item_id"),
            weight=place.check(check_weight, 1.0 if row.weight is None else row.weight, "weight"),
        )
    log.timed = timed is not False
    return log


def _read_optional_id(value: Id | None, place: Place, field: str, ids: IdChecker) -> str | None:
    return None if value is None else ids.check(str(value), place, field)


class Format(NamedTuple):
    """A format: its loader, and its files' names or patterns.

    The `main` files are the catalogue's and the events', of which one must exist. The `further`
    files may be missing.
    """

    load: Callable[[Path, int], Dataset]
    main: tuple[str, ...]
    further: tuple[str, ...] = ()


FORMATS = {
    "MovieLens 100k": Format(load_movielens_100k, ("u.item", "u.data"), ("u.user", "u.genre")),
    "MovieLens 1M and 10M": Format(
        partial(load_movielens, ending=".dat"),
        ("movies.dat", "ratings.dat"),
        ("users.dat", "tags.dat"),
    ),
    "MovieLens from 20M on": Format(
        partial(load_movielens, ending=".csv"), ("movies.csv", "ratings.csv"), ("tags.csv",)
    ),
    "JSON Lines": Format(load_json_lines, (CLIENTS, EVENTS)),
    # The last, since its patterns also match u.item and u.user of MovieLens.
    "RecBole": Format(load_recbole, ("*.item", "*.inter"), ("*.user",)),
}
FILES_SHOWN = 4


def load_dataset(folder: Path, seed: int) -> Dataset:
    """Read and check everything in the folder.

    Args:
        seed: Orders events of equal time.

    Raises:
        BrokenData: The folder holds no known format or several, or a line cannot be read; the error
            names the first such line.
    """
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise BrokenData(str(folder), 0, "", "is not a folder")
    form, ignored = _find_format(folder)
    dataset = form.load(folder, seed)
    if not dataset.items:
        raise BrokenData(str(folder), 0, "", "its files name no item and no event")
    if ignored:
        return replace(
            dataset,
            notes=(
                *dataset.notes,
                f"Not read: {_show(ignored)}. A catalogue must be in {form.main[0]}.",
            ),
        )
    return dataset


def _find_format(folder: Path) -> tuple[Format, list[str]]:
    """Find the format of the folder's files.

    Returns:
        The format and, if its catalogue is missing, the files that are not read.

    Raises:
        BrokenData: The folder holds no known format or several, or an unknown file may hold the
            events.
    """
    # Folders, too: a folder that is named like a data file is refused when it is read.
    paths = list(folder.iterdir())
    rest = sorted({clean_name(path) for path in paths})
    present: dict[str, list[str]] = {}
    for name, one in FORMATS.items():
        present[name] = _match_files(rest, (*one.main, *one.further))
        rest = [file for file in rest if file not in present[name]]
    readable = [name for name, one in FORMATS.items() if _match_files(present[name], one.main)]
    if not readable:
        known = "; ".join(f"{name}: {', '.join(one.main)}" for name, one in FORMATS.items())
        raise BrokenData(
            str(folder),
            0,
            "",
            f"holds no known data; it must hold one of these, plain or as .gz: {known}",
        )
    found = [f"{name} ({_show(files)})" for name, files in present.items() if files]
    if len(found) > 1:
        raise BrokenData(
            str(folder),
            0,
            "",
            f"holds files of {' and of '.join(found)}, and only one format can be read; "
            "move those of one format into a folder of their own",
        )
    (name,) = readable
    catalogue, events = FORMATS[name].main
    files = {clean_name(path) for path in paths if path.is_file()}
    ignored = [
        file
        for file in rest
        if file in files and not file.startswith((".", "README", "LICENSE", "CHANGELOG"))
    ]
    if ignored and not fnmatch.filter(present[name], events):
        raise BrokenData(
            str(folder),
            0,
            "",
            f"looks like {name}, but has no events file {events} or {events}.gz, and would be read"
            f" without {_show(ignored)}. Rename the file that holds the events, or move away the"
            " files that hold none",
        )
    return FORMATS[name], [] if fnmatch.filter(present[name], catalogue) else ignored


def _match_files(files: list[str], patterns: Iterable[str]) -> list[str]:
    return [file for pattern in patterns for file in fnmatch.filter(files, pattern)]


def _show(files: list[str]) -> str:
    return ", ".join(files[:FILES_SHOWN]) + (", ..." if len(files) > FILES_SHOWN else "")
