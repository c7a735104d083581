"""Runs an experiment's methods; a stopped run goes on where it was.

A run is a folder: run.json says what is predicted, and each method and seed has a file with every
target's result. Methods and seeds can be added later.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from propagation.datasets.dataset import Dataset
from propagation.laboratory.code_version import find_commit
from propagation.laboratory.methods import (
    Measured,
    Method,
    MethodFailed,
    MethodNotInstalled,
    get_measured,
)
from propagation.laboratory.methods.asking import asks_model
from propagation.laboratory.methods.asking.run_part import RunPart, current_part
from propagation.laboratory.methods.dependencies import (
    build_answers_version,
    build_version,
    list_dependencies,
)
from propagation.laboratory.protocols.protocol import Protocol
from propagation.laboratory.runs.parts import (
    Part,
    find_last_order,
    find_part,
    has_result,
    write_known,
    write_part,
)
from propagation.laboratory.runs.side_by_side import run_side_by_side
from propagation.laboratory.temporary_folder import remove_abandoned_folders

Progress = Callable[[Collection[tuple[str, int]], int], None]
"""Takes the methods and seeds whose parts have ended, and how many parts there are."""
KEPT_ANSWERS = "kept answers"
"""The name of a count: answers that were paid for before."""


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


def list_parts(methods: Sequence[Method], seeds: Sequence[int]) -> list[tuple[Method, int]]:
    """List the parts of a run in their order."""
    return [(method, seed) for seed in seeds for method in methods]


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
    target = list(zip(users.tolist(), items.tolist(), strict=True))
    orders = count(find_last_order(folder) + 1)
    parts = list_parts(methods, seeds)
    absent: dict[str, str] = {}
    failed: dict[str, str] = {}
    repeated: set[str] = set()
    ended: list[tuple[str, int]] = []
    write_known(folder, history, targets)
    remove_abandoned_folders()

    async def run(method: Method, seed: int) -> None:
        path = find_part(folder, method, seed)
        try:
            current_part.set(RunPart(method.name, seed, build_answers_version(method)))
            depends_on = list_dependencies(method)
            if has_result(folder, method, seed, protocol.measures):
                return
            changed = path.exists()
            begun = time.monotonic()
            values = await protocol.run(method, history, targets, seed)
            seconds: float | None = time.monotonic() - begun
        except MethodNotInstalled as error:
            absent.setdefault(method.name, str(error))
            return
        except MethodFailed as error:
            failed.setdefault(method.name, str(error))
            return
        measured = measure(method, seed)
        if measured.counts.get(KEPT_ANSWERS):
            seconds = None  # nobody waited for these
        write_part(
            Part(
                method.name,
                seed,
                build_version(depends_on),
                target,
                values,
                seconds,
                measured,
                depends_on,
                path,
                next(orders),
                find_commit(),
            )
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
