"""The folder of a run, and what the run predicts."""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from pydantic import ValidationError

from propagation.atomic_file import PARTIAL, write_atomically
from propagation.datasets.dataset import Dataset
from propagation.laboratory.protocols.last_events import count_tied
from propagation.laboratory.protocols.protocol import Protocol
from propagation.model import InvalidInput, PropagationError, Term, pluralize

ABOUT, LOCK = "run.json", "run.lock"


class RunPlan(Term):
    """What a run predicts.

    Attributes:
        data: The dataset's name; `users`, `items` and `events` are its sizes.
        digest: A digest of the dataset's clients, and of its events in their order.
        notes: Remarks on the data.
        order_made_up: Whether the events have no times of their own that order them
            (`propagation/datasets/time_order.py`).
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


def plan_run(
    experiment: str, dataset: Dataset, protocol: Protocol, *, without_times: bool = False
) -> RunPlan:
    """Describe a run on a dataset.

    Args:
        without_times: Take a made-up order if the events have no times.

    Raises:
        InvalidInput: The dataset does not suit the protocol, or has no times.
    """
    problem = dataset.find_order_problem()
    if problem and not without_times:
        raise InvalidInput(
            "events",
            f"{dataset.name} has no times that order its events ({problem}), and {experiment} needs"
            " their order: add times (docs/data.md), or take a made-up order with --without-times,"
            " which the report will say",
        )
    history, targets = protocol.split(dataset)
    tied = count_tied(history, targets)
    digest = blake2b(digest_size=16)
    for client in dataset.clients:
        digest.update(client.model_dump_json().encode() + b"\n")
    for event in dataset.events:
        digest.update(repr((event.user_id, event.item_id, event.time)).encode())
    made_up = (
        f"The times do not order the events: {problem}. So their order is made up."
        if problem
        else ""
    )
    ties = (
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
        notes=[*dataset.notes, *([made_up] if made_up else ()), *([ties] if tied else ())],
        order_made_up=bool(problem),
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
