"""Messages between the service and the process that drafts: pickles, since both are one program."""

import pickle
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from propagation.model import ReasonWork
from propagation.workflow.settings import WorkflowSettings

LENGTH_BYTES = 8
# Asks the child to end its claim with the part under way. A process that does not handle this
# signal yet is not ended by it.
END_EARLY_SIGNAL = signal.SIGURG


@dataclass(frozen=True)
class Begin:
    """The first message: the database to read, and the settings to reason with."""

    database: Path
    workflow: WorkflowSettings


@dataclass(frozen=True)
class Draft:
    """A claim to draft: answered by DraftedParts up to the last one, or by one DraftingFailed."""

    works: Sequence[ReasonWork]
    seconds: float


@dataclass(frozen=True)
class Forget:
    """Clients whose texts are to be loaded again; not answered."""

    refs: Sequence[int]


@dataclass(frozen=True)
class DraftingFailed:
    """The class name and the message of an error."""

    kind: str
    message: str


def frame(message: object) -> bytes:
    """Return an answer's pickle behind its length, for a reader that cannot wait for bytes."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return len(body).to_bytes(LENGTH_BYTES, "little") + body
