"""What goes over the pipes: a length, then one pickled object. Both ends are one program, and
nobody else can write to them."""

import pickle
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from propagation.model.interactions.reasoning import ReasonWork
from propagation.workflow.settings import WorkflowSettings

LENGTH_BYTES = 8
# To the process that drafts: the part it is at may be its claim's last. One that does not listen
# yet is not ended by it.
ENOUGH = signal.SIGURG


@dataclass(frozen=True)
class Begin:
    """The first that is sent: the file to read, and how to reason."""

    database: Path
    workflow: WorkflowSettings


@dataclass(frozen=True)
class Draft:
    """Answered by Drafts, up to and with the last one, or by one Failed."""

    works: Sequence[ReasonWork]
    seconds: float


@dataclass(frozen=True)
class Forget:
    """These clients' texts are to be loaded again; not answered."""

    refs: Sequence[int]


@dataclass(frozen=True)
class Failed:
    """Drafting failed: the name of an error of model/errors.py where it was one, and what it says."""

    kind: str
    told: str


def to_frame(message: object) -> bytes:
    """Length and body."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return len(body).to_bytes(LENGTH_BYTES, "little") + body


def of_body(body: bytes) -> Any:
    """What was sent."""
    return pickle.loads(body)


def read_frame(source: BinaryIO) -> Any:
    """The next that was sent; None where the other end is closed."""
    length = source.read(LENGTH_BYTES)
    if len(length) < LENGTH_BYTES:
        return None
    size = int.from_bytes(length, "little")
    body = source.read(size)
    return of_body(body) if len(body) == size else None
