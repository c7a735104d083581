"""Results of methods and seeds, in the files of a run's folder."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import ValidationError

from propagation.arrays import F64, I64
from propagation.atomic_file import write_atomically
from propagation.grouping import group_pairs
from propagation.laboratory.history import History, Known, Targets, count_known
from propagation.laboratory.methods import Measured, Method, MethodNotInstalled
from propagation.laboratory.methods.dependencies import build_version, list_dependencies
from propagation.laboratory.methods.method import NOTHING_ELSE, Dependencies
from propagation.laboratory.runs.plan import explain_unwritable
from propagation.model import PropagationError

TARGETS = "targets.npz"
MADE_AGAIN = "delete it, and the next run makes it again"


class Part(NamedTuple):
    """The results of one method and seed.

    Attributes:
        version: A digest of what the results depend on.
        target: [T] the user's id and the item's of each target.
        values: [T] each measure of each target.
        seconds: How long the method took, in seconds of wall time; None if nobody measured, or if
            answers were kept from before. With a model, it includes waiting for other methods.
        measured: What the method measured of itself.
        depends_on: The versions of programs and packages, settings and the like by name.
        path: The file that it was read from.
        order: Counts the results that were written into the folder, from 1; 0 if an earlier release
            wrote it, which did not count.
        commit: The git commit of the code that made it; "" if none was known.
    """

    method: str
    seed: int
    version: str
    target: Sequence[tuple[str, str]]
    values: Mapping[str, F64]
    seconds: float | None = None
    measured: Measured = Measured()
    depends_on: Dependencies = NOTHING_ELSE
    path: Path = Path()
    order: int = 0
    commit: str = ""

    def number_users(self) -> I64:
        """Return a number of each target's user, [T]."""
        numbers: dict[str, int] = {}
        return np.array(
            [numbers.setdefault(user, len(numbers)) for user, _ in self.target], np.int64
        )


def has_result(folder: Path, method: Method, seed: int, measures: Collection[str]) -> bool:
    """Return whether a part has a result of the method's present version.

    Args:
        measures: The protocol's; a result that lacks one does not count.

    Raises:
        MethodNotInstalled: The method's packages are missing.
        PropagationError: The file is damaged.
    """
    version = build_version(list_dependencies(method))
    path = find_part(folder, method, seed)
    if not path.exists():
        return False
    part = _read_part(path)
    return part.version == version and part.values.keys() >= set(measures)


def find_part(folder: Path, method: Method, seed: int) -> Path:
    """Return the path of a part's file, which may not exist."""
    return folder / f"{method.name}-{seed}.npz"


def find_last_order(folder: Path) -> int:
    """Return the order of the newest result; 0 without one.

    Raises:
        PropagationError: A file is damaged.
    """
    return max((part.order for part in _read_all(folder)), default=0)


def write_part(part: Part) -> None:
    """Write the results of a part to its path.

    Raises:
        PropagationError: The disk is full, or the file cannot be written.
    """
    target = np.array(part.target)
    _write_arrays(
        part.path,
        version=np.array(part.version),
        depends_on=np.array(orjson.dumps(dict(part.depends_on)).decode()),
        order=np.array(part.order),
        commit=np.array(part.commit),
        seconds=np.array(np.nan if part.seconds is None else part.seconds),
        measured=np.array(part.measured.model_dump_json()),
        user=target[:, 0],
        item=target[:, 1],
        **part.values,
    )


def write_known(folder: Path, history: History, targets: Targets) -> None:
    """Write how much is known of a run's targets.

    Raises:
        PropagationError: The disk is full, or the file cannot be written.
    """
    _write_arrays(folder / TARGETS, **count_known(history, targets)._asdict())


def _write_arrays(path: Path, **arrays: NDArray[Any]) -> None:
    """Write a compressed file of arrays, whole or not at all.

    Raises:
        PropagationError: The disk is full, or the file cannot be written.
    """
    content = BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    with explain_unwritable(path), write_atomically(path, replace=True) as partial_:
        partial_.write_bytes(content.getvalue())


def read_known(folder: Path) -> Known:
    """Read how much is known of a run's targets.

    Raises:
        PropagationError: The file is missing or damaged.
    """
    path = folder / TARGETS
    if not path.exists():
        raise PropagationError(f"{path} is missing; the next `propagation lab run` makes it again")
    found = _read_arrays(path)
    with _explain_damaged(path):
        known = Known(found["history"], found["adopters"])
        if any(column.ndim != 1 or column.dtype.kind != "i" for column in known):
            raise ValueError("a column holds no list of whole numbers")
        if len(known.history) != len(known.adopters):
            raise ValueError("its columns have different lengths")
    return known


def read_parts(folder: Path, methods: Sequence[str] | None = None) -> list[Part]:
    """Read the results of a run.

    Of a method with results of several versions, only those of the version that was written last
    are read: its older seeds would be another method's. `list_older` has these.

    Args:
        methods: Their names, in the order of the parts; None: all, in the order of their names.

    Raises:
        PropagationError: A file is damaged, or nothing says which version was written last.
    """
    by_method = group_pairs((part.method, part) for part in _read_all(folder))
    names = sorted(by_method) if methods is None else methods
    return [part for name in names for part in _choose_newest(by_method.get(name, []))]


def list_older(folder: Path, methods: Sequence[str] | None = None) -> list[Part]:
    """List the results of older versions, which `read_parts` leaves out.

    Raises:
        PropagationError: As `read_parts`.
    """
    used = {part.path for part in read_parts(folder, methods)}
    return [
        part
        for part in _read_all(folder)
        if part.path not in used and (methods is None or part.method in methods)
    ]


def _read_all(folder: Path) -> list[Part]:
    parts = [_read_part(path) for path in folder.glob("*-*.npz")]
    return sorted(parts, key=lambda part: (part.method, part.seed))


def _choose_newest(parts: Sequence[Part]) -> list[Part]:
    """Choose one method's results of the version that was written last.

    The order is in the files: a copy of a folder has other times.
    """
    last = max((part.order for part in parts), default=0)
    versions = {part.version: part for part in parts if part.order == last}
    if len(versions) > 1:
        files = " and ".join(sorted(part.path.name for part in versions.values()))
        raise PropagationError(
            f"{parts[0].path.parent} holds results of {parts[0].method} of {len(versions)}"
            f" versions, and nothing in {files} says which is newer: delete those that should not"
            " count, or run the method again"
        )
    return [part for part in parts if part.version in versions]


def drop_stale(parts: Sequence[Part], methods: Sequence[Method]) -> list[Part]:
    """Leave out results of methods that have changed since, and then failed."""
    versions = {method.name: _find_version(method) for method in methods}
    return [part for part in parts if versions.get(part.method) in (None, part.version)]


def _find_version(method: Method) -> str | None:
    try:
        return build_version(list_dependencies(method))
    except MethodNotInstalled:
        return None


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read a file of arrays.

    Raises:
        PropagationError: It is missing or damaged.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            return {name: np.asarray(found[name]) for name in found.files}
    # NumPy and zipfile raise errors of many kinds on damaged bytes.
    except Exception as error:
        raise PropagationError(f"{path} cannot be read ({error}); {MADE_AGAIN}") from error


@contextmanager
def _explain_damaged(path: Path) -> Iterator[None]:
    """Say in one sentence that a file's arrays are damaged.

    Raises:
        PropagationError: A column is missing, or its content is wrong.
    """
    try:
        yield
    except (ValueError, KeyError, TypeError) as error:
        reason: object = error
        if isinstance(error, KeyError):
            reason = f"it lacks the column {error}"
        elif isinstance(error, ValidationError):
            reason = "a field of what was measured is wrong"
        raise PropagationError(f"{path} cannot be read ({reason}); {MADE_AGAIN}") from error


def _read_part(path: Path) -> Part:
    method, _, seed = path.stem.rpartition("-")
    columns = _read_arrays(path)
    with _explain_damaged(path):
        version = str(columns.pop("version"))
        depends_on = _read_dependencies(str(columns.pop("depends_on", "{}")))
        seconds = float(columns.pop("seconds", np.array(np.nan)))
        measured = Measured.model_validate_json(str(columns.pop("measured", "{}")))
        order, commit = int(columns.pop("order", np.array(0))), str(columns.pop("commit", ""))
        target = _read_targets(columns.pop("user"), columns.pop("item"))
        for name, column in columns.items():
            if column.shape != (len(target),):
                raise ValueError("its columns have different lengths")
            if column.dtype.kind != "f" or np.isinf(column).any():
                raise ValueError(f"the column {name!r} holds other things than finite numbers")
        if np.isinf(seconds):
            raise ValueError("its seconds are infinite")
        known = None if np.isnan(seconds) else seconds
        return Part(
            method,
            int(seed),
            version,
            target,
            columns,
            known,
            measured,
            depends_on,
            path,
            order,
            commit,
        )


def _read_dependencies(text: str) -> Dependencies:
    found = orjson.loads(text)
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise ValueError("what it depends on is no list of names and versions")
    return found


def _read_targets(user: NDArray[Any], item: NDArray[Any]) -> list[tuple[str, str]]:
    if any(ids.ndim != 1 or ids.dtype.kind != "U" for ids in (user, item)):
        raise ValueError("its users or items are no lists of ids")
    if len(user) != len(item) or not len(user):
        raise ValueError("it has no targets, or a user without an item")
    return list(zip(user.tolist(), item.tolist(), strict=True))
