"""Runs an experiment's methods; a stopped run goes on where it was.

A run is a folder: run.json says what is compared, and each method and seed has a file with every
target's result.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from propagation.arrays import F64
from propagation.atomic_file import write_atomically
from propagation.datasets.dataset import Dataset
from propagation.laboratory.history import split_last
from propagation.laboratory.methods import Method, MethodNotInstalled
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from propagation.model import InvalidInput, PropagationError, pluralize

LEAST_TARGETS = 10
ABOUT = "run.json"


@dataclass(frozen=True)
class RunPlan:
    """What a run compares.

    Attributes:
        data: The dataset's name; `users`, `items` and `events` are its sizes.
        settings: What else decides the results, such as settings of the service.
    """

    experiment: str
    data: str
    users: int
    items: int
    events: int
    methods: Sequence[str]
    seeds: Sequence[int]
    settings: Sequence[str] = ()


@dataclass(frozen=True)
class Part:
    """The results of one method and seed.

    Attributes:
        user: [T] the id of each target's user; likewise item.
        values: [T] each measure of each target.
    """

    method: str
    seed: int
    user: Sequence[str]
    item: Sequence[str]
    values: Mapping[str, F64]


def open_run(folder: Path, plan: RunPlan) -> None:
    """Create a run's folder, or check that it holds this run.

    Raises:
        PropagationError: The folder holds another run, or other files.
    """
    about = json.dumps(asdict(plan), indent=2)
    path = folder / ABOUT
    if path.exists():
        if path.read_text(encoding="utf-8") != about:
            raise PropagationError(
                f"{folder} holds a run of another experiment, data, methods, seeds or settings;"
                " name another folder"
            )
        return
    if folder.exists() and any(folder.iterdir()):
        raise PropagationError(f"{folder} is not empty and holds no run; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    with write_atomically(path, replace=False) as partial:
        partial.write_text(about, encoding="utf-8")


def read_plan(folder: Path) -> RunPlan:
    """Read what a run compares.

    Raises:
        PropagationError: The folder holds no run.
    """
    try:
        return RunPlan(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise PropagationError(
            f"{folder} holds no run of the laboratory ({ABOUT}: {error}); `propagation lab run`"
            " makes one"
        ) from error


async def run_methods(
    folder: Path,
    dataset: Dataset,
    protocol: LeaveOneOut,
    methods: Sequence[Method],
    seeds: Sequence[int],
    progress: Callable[[str, int, int], None],
) -> dict[str, str]:
    """Run each method with each seed, but not twice.

    What an earlier run of the folder has ended is left as it is.

    Args:
        folder: Of `open_run`.
        progress: Called with the name of the method that runs next, how many parts are done, and
            how many there are.

    Returns:
        By method that is not installed: what to do.

    Raises:
        InvalidInput: The dataset has too few targets.
        MethodFailed: A method ended with an error; what is done is kept.
    """
    history, targets = split_last(dataset)
    if len(targets.user) < LEAST_TARGETS:
        raise InvalidInput(
            "events",
            f"{dataset.name} has {pluralize(len(targets.user), 'user')} with two events or more;"
            f" leave-last-one-out needs at least {LEAST_TARGETS}",
        )
    users = np.array([client.key.id for client in dataset.users])[targets.user]
    items = np.array([client.key.id for client in dataset.items])[targets.item]
    total = len(methods) * len(seeds)
    absent: dict[str, str] = {}
    for number, (method, seed) in enumerate((m, s) for m in methods for s in seeds):
        progress(method.name, number, total)
        path = _get_path(folder, method.name, seed)
        if path.exists() or method.name in absent:
            continue
        try:
            values = await protocol.run(method, history, targets, seed)
        except MethodNotInstalled as error:
            absent[method.name] = str(error)
            continue
        with (
            write_atomically(path, replace=True) as partial,
            partial.open("wb") as binary,
        ):
            np.savez_compressed(binary, user=users, item=items, **values)  # type: ignore[arg-type]
    progress("", total, total)
    return absent


def read_parts(folder: Path, plan: RunPlan) -> list[Part]:
    """Read the results of a run that are there."""
    return [
        _read_part(path, method, seed)
        for method in plan.methods
        for seed in plan.seeds
        if (path := _get_path(folder, method, seed)).exists()
    ]


def _get_path(folder: Path, method: str, seed: int) -> Path:
    return folder / f"{method}-{seed}.npz"


def _read_part(path: Path, method: str, seed: int) -> Part:
    try:
        with np.load(path, allow_pickle=False) as found:
            columns = {name: found[name] for name in found.files}
        return Part(
            method,
            seed,
            columns.pop("user").tolist(),
            columns.pop("item").tolist(),
            columns,
        )
    except (OSError, ValueError, KeyError) as error:
        raise PropagationError(
            f"{path} cannot be read ({error}); delete it, and the next run makes it again"
        ) from error
