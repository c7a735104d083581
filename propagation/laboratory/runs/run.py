"""Runs an experiment's methods; a stopped run goes on where it was.

A run is a folder: run.json says what is predicted, and each method and seed has a file with every
target's result. Methods and seeds can be added later.
"""

import fcntl
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import ValidationError

from propagation.arrays import F64, I64
from propagation.atomic_file import PARTIAL, write_atomically
from propagation.datasets.dataset import Dataset
from propagation.laboratory.history import History, Known, Targets, count_known
from propagation.laboratory.methods import (
    Measured,
    Method,
    MethodFailed,
    MethodNotInstalled,
    get_measured,
)
from propagation.laboratory.methods.asking import asks_model
from propagation.laboratory.methods.dependencies import build_version, list_dependencies
from propagation.laboratory.methods.method import NOTHING_ELSE, Dependencies
from propagation.laboratory.protocols.last_events import count_tied
from propagation.laboratory.protocols.protocol import Protocol
from propagation.laboratory.runs.side_by_side import run_side_by_side
from propagation.model import InvalidInput, PropagationError, Term, pluralize

Progress = Callable[[Collection[tuple[str, int]], int], None]
"""Takes the methods and seeds whose parts have ended, and how many parts there are."""
KEPT_ANSWERS = "kept answers"
"""The name of a count: answers that were paid for before."""
ABOUT, LOCK, TARGETS = "run.json", "run.lock", "targets.npz"
MADE_AGAIN = "delete it, and the next run makes it again"


class RunPlan(Term):
    """What a run predicts.

    Attributes:
        data: The dataset's name; `users`, `items` and `events` are its sizes.
        digest: A digest of the dataset's clients, and of its events in their order.
        notes: Remarks on the data.
        order_made_up: Whether the events have no times of their own that order them.
        described: What is ranked, in a sentence.
    """

    experiment: str
    data: str
    users: int
    items: int
    events: int
    digest: str
    notes: Sequence[str] = ()
    order_made_up: bool = False
    described: str = ""


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

    def number_users(self) -> I64:
        """Return a number of each target's user, [T]."""
        numbers: dict[str, int] = {}
        return np.array(
            [numbers.setdefault(user, len(numbers)) for user, _ in self.target], np.int64
        )


class Outcome(NamedTuple):
    """What became of a run's methods.

    Attributes:
        absent: By method that is not installed: what to do.
        failed: By method that failed: why.
        repeated: Methods that ran again, because their results were of another version or lacked a
            measure.
    """

    absent: Mapping[str, str]
    failed: Mapping[str, str]
    repeated: Sequence[str]


def join_outcomes(outcomes: Iterable[Outcome]) -> Outcome:
    """Join what became of several groups of methods."""
    absent: dict[str, str] = {}
    failed: dict[str, str] = {}
    repeated: list[str] = []
    for one in outcomes:
        absent |= one.absent
        failed |= one.failed
        repeated += one.repeated
    return Outcome(absent, failed, repeated)


def plan_run(
    experiment: str, dataset: Dataset, protocol: Protocol, *, without_times: bool = False
) -> RunPlan:
    """Describe a run on a dataset.

    Args:
        without_times: Take a made-up order if the events have no times.

    Raises:
        InvalidInput: The dataset does not suit the protocol, or has no times.
    """
    if not dataset.has_order and not without_times:
        raise InvalidInput(
            "events",
            f"{dataset.name} has no times, or one time for all events, and {experiment} needs the"
            " order of events: add times (docs/data.md), or take a made-up order with"
            " --without-times, which the report will say",
        )
    history, targets = protocol.split(dataset)
    tied = count_tied(history, targets)
    digest = blake2b(digest_size=16)
    for client in dataset.clients:
        digest.update(client.model_dump_json().encode() + b"\n")
    for event in dataset.events:
        digest.update(repr((event.user_id, event.item_id, event.time)).encode())
    note = (
        f"{pluralize(tied, 'target')} had other events of their user at the same time; the setting"
        f" `seed` decides {'which is the last' if targets.known is None else 'their order'}."
    )
    return RunPlan(
        experiment=experiment,
        data=dataset.name,
        users=len(dataset.users),
        items=len(dataset.items),
        events=len(dataset),
        digest=digest.hexdigest(),
        notes=[*dataset.notes, *([note] if tied else ())],
        order_made_up=not dataset.has_order,
        described=protocol.description,
    )


@contextmanager
def explain_unwritable(path: Path) -> Iterator[None]:
    """Say in one sentence that a file or folder cannot be written.

    Raises:
        PropagationError: The disk is full, or writing is not allowed.
    """
    try:
        yield
    except OSError as error:
        raise PropagationError(
            f"{path} cannot be written ({error.strerror or error}); make room or name another"
            " place, and run the same command again: what is done is kept"
        ) from error


@contextmanager
def open_run(folder: Path, plan: RunPlan) -> Iterator[None]:
    """Create a run's folder, or go on there; keep other processes out.

    Raises:
        PropagationError: The folder holds another run, or other files; or another process uses it.
    """
    path = folder / ABOUT
    if path.exists():
        _check_same(folder, read_plan(folder), plan)
    elif folder.exists() and not {one.name for one in folder.iterdir()} <= {
        LOCK,
        ABOUT + PARTIAL,
    }:
        raise PropagationError(f"{folder} is not empty and holds no run; name another folder")
    with explain_unwritable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock_file = (folder / LOCK).open("w")
    with lock_file as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PropagationError(
                f"another process runs in {folder}; wait until it ends"
            ) from error
        if not path.exists():
            with explain_unwritable(path), write_atomically(path, replace=False) as partial:
                partial.write_text(plan.model_dump_json(indent=2), encoding="utf-8")
        yield


def _check_same(folder: Path, known: RunPlan, plan: RunPlan) -> None:
    # Files of earlier versions lack some fields.
    names = [name for name in RunPlan.model_fields if name in known.model_fields_set]
    differs = [name for name in names if getattr(known, name) != getattr(plan, name)]
    if differs:
        raise PropagationError(
            f"{folder} holds another run: it differs in {', '.join(differs)}; name another folder"
            " with --run"
        )


def read_plan(folder: Path) -> RunPlan:
    """Read what a run predicts.

    Raises:
        PropagationError: The folder holds no run.
    """
    try:
        return RunPlan.model_validate_json((folder / ABOUT).read_bytes())
    except (OSError, ValidationError) as error:
        reason = "a field is wrong" if isinstance(error, ValidationError) else error
        raise PropagationError(
            f"{folder} holds no run of the laboratory ({ABOUT}: {reason}); `propagation lab run`"
            " makes one"
        ) from error


def list_parts(methods: Sequence[Method], seeds: Sequence[int]) -> list[tuple[Method, int]]:
    """List the parts of a run in their order."""
    return [(method, seed) for seed in seeds for method in methods]


def has_result(folder: Path, method: Method, seed: int, measures: Collection[str]) -> bool:
    """Return whether a part has a result of the method's present version.

    Args:
        measures: The protocol's; a result that lacks one does not count.

    Raises:
        MethodNotInstalled: The method's packages are missing.
        PropagationError: The file is damaged.
    """
    version = build_version(list_dependencies(method))
    path = _find_path(folder, method, seed)
    if not path.exists():
        return False
    part = _read_part(path)
    return part.version == version and part.values.keys() >= set(measures)


def _find_path(folder: Path, method: Method, seed: int) -> Path:
    return folder / f"{method.name}-{seed}.npz"


async def run_methods(
    folder: Path,
    dataset: Dataset,
    protocol: Protocol,
    methods: Sequence[Method],
    seeds: Sequence[int],
    progress: Progress,
    measure: Callable[[Method, int], Measured] = get_measured,
) -> Outcome:
    """Run each method with each seed, but not twice.

    Methods with scores run one after the other: all with one seed, then with the next. Those that
    ask a model run beside them and beside each other; no result depends on that. A method whose
    results are of another version runs again.

    Args:
        folder: Of `open_run`.
        progress: Called at first, and when a part has ended.
        measure: Returns what was measured of a method with a seed that has ended.
    """
    history, targets = protocol.split(dataset)
    users = np.array([client.key.id for client in dataset.users])[targets.user]
    items = np.array([client.key.id for client in dataset.items])[targets.item]
    parts = list_parts(methods, seeds)
    absent: dict[str, str] = {}
    failed: dict[str, str] = {}
    repeated: set[str] = set()
    ended: list[tuple[str, int]] = []
    _write_known(folder, history, targets)

    async def run(method: Method, seed: int) -> None:
        path = _find_path(folder, method, seed)
        try:
            depends_on = list_dependencies(method)
            if has_result(folder, method, seed, protocol.measures):
                return
            changed = path.exists()
            begun = time.monotonic()
            values = await protocol.run(method, history, targets, seed)
            seconds = time.monotonic() - begun
        except MethodNotInstalled as error:
            absent.setdefault(method.name, str(error))
            return
        except MethodFailed as error:
            failed.setdefault(method.name, str(error))
            return
        measured = measure(method, seed)
        if measured.counts.get(KEPT_ANSWERS):
            seconds = np.nan  # nobody waited for these
        _write_arrays(
            path,
            version=np.array(build_version(depends_on)),
            depends_on=np.array(orjson.dumps(dict(depends_on)).decode()),
            seconds=np.array(seconds),
            measured=np.array(measured.model_dump_json()),
            user=users,
            item=items,
            **values,
        )
        if changed:
            repeated.add(method.name)

    async def run_and_count(method: Method, seed: int) -> None:
        if method.name not in absent and method.name not in failed:
            await run(method, seed)
        ended.append((method.name, seed))
        progress(ended, len(parts))

    progress(ended, len(parts))
    await run_side_by_side(
        [partial(run_and_count, *part) for part in parts if not asks_model(part[0])],
        [partial(run_and_count, *part) for part in parts if asks_model(part[0])],
    )
    names = [method.name for method in methods]
    return Outcome(
        {name: absent[name] for name in names if name in absent},
        {name: failed[name] for name in names if name in failed},
        [name for name in names if name in repeated],
    )


def _write_known(folder: Path, history: History, targets: Targets) -> None:
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
    are read: its older seeds would be another method's.

    Args:
        methods: Their names, in the order of the parts; None: all, in the order of their names.

    Raises:
        PropagationError: A file is damaged.
    """
    paths = sorted(folder.glob("*-*.npz"), key=lambda path: path.stat().st_mtime_ns)
    written = [_read_part(path) for path in paths]
    newest = {part.method: part.version for part in written}
    parts = [part for part in written if part.version == newest[part.method]]
    names = sorted(newest) if methods is None else methods
    by_seed = sorted(parts, key=lambda part: part.seed)
    return [part for name in names for part in by_seed if part.method == name]


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
        target = _read_targets(columns.pop("user"), columns.pop("item"))
        for name, column in columns.items():
            if column.shape != (len(target),):
                raise ValueError("its columns have different lengths")
            if column.dtype.kind != "f" or np.isinf(column).any():
                raise ValueError(f"the column {name!r} holds other things than finite numbers")
        if np.isinf(seconds):
            raise ValueError("its seconds are infinite")
        known = None if np.isnan(seconds) else seconds
        return Part(method, int(seed), version, target, columns, known, measured, depends_on, path)


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
