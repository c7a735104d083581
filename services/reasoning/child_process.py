"""The child process that drafts texts.

The child only reads the database. It takes requests from one pipe and sends answers to another. It
ends when the service closes the pipe of requests.
"""

import asyncio
import fcntl
import logging
import os
import pickle
import signal
import sys
from contextlib import aclosing, suppress
from typing import BinaryIO

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.reason.reasoned_rows import list_texts, pack_reasoned
from propagation.adapters.sqlite.reason.texts import pack_bodies_now
from propagation.adapters.sqlite.store import SqliteInteractionReader
from propagation.model import PropagationError, StoreBusy, StoreCorrupt, StoreFull
from propagation.workflow.reason.drafting import ClaimDrafter, DraftedPart
from propagation.workflow.reason.interaction import InteractionReasoning, get_newest_texts
from services.reasoning.process_drafter import (
    END_EARLY_SIGNAL,
    LENGTH_BYTES,
    Begin,
    DraftRequest,
    Forget,
)
from services.runtime.process import raise_garbage_thresholds

PIPE_BYTES = 1 << 20
# Most objects of a part are freed before a scan: 10 instead of 57 us an interaction (ML-100k).
YOUNG_OBJECTS = 100_000
log = logging.getLogger(__name__)


def main() -> None:
    """Draft claims until the service closes the pipe."""
    os.nice(10)  # calls go first
    raise_garbage_thresholds(YOUNG_OBJECTS)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # The pipe has room for a whole answer while the service is busy; only Linux has this setting.
    with suppress(OSError, AttributeError):
        fcntl.fcntl(answers.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    try:
        asyncio.run(_serve(sys.stdin.buffer, answers))
    except BrokenPipeError:
        os._exit(0)


async def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    with suppress(EOFError, pickle.UnpicklingError):  # the service closed the pipe
        child = DraftingChild(pickle.load(requests), answers)
        while True:
            request = pickle.load(requests)
            if isinstance(request, Forget):
                child.drafter.forget(request.refs)
            else:
                await child.answer(request)


class DraftingChild:
    """Drafts claims and writes their parts to the pipe.

    While it drafts, the child does not read the pipe of requests. So the service ends a claim early
    by a signal, which it repeats: a signal that comes between two claims has no effect.
    """

    def __init__(self, begin: Begin, answers: BinaryIO) -> None:
        interactions = InteractionReasoning(
            SqliteInteractionReader(begin.database),
            OfflineReasoner(begin.workflow.profile_lines),
            begin.workflow,
            _yield_to_nobody,
        )
        self.drafter = ClaimDrafter(interactions, least=64)
        self._answers = answers
        self._end_early = False
        signal.signal(END_EARLY_SIGNAL, self._receive_end_early)

    def _receive_end_early(self, *_: object) -> None:
        self._end_early = True

    async def answer(self, request: DraftRequest) -> None:
        """Send the parts of a claim, or the error that ended it."""
        try:
            await self._draft(request)
        except BrokenPipeError:
            raise
        except (StoreBusy, StoreCorrupt, StoreFull) as error:
            self._send(type(error)(str(error)))
        except Exception as error:
            if not isinstance(error, PropagationError):
                log.exception("drafting failed")
            self._send(
                PropagationError(f"reasoning failed: {type(error).__name__}: {error}; see the log")
            )

    async def _draft(self, request: DraftRequest) -> None:
        """Draft a claim and send its parts.

        The child takes a part that was sent as stored. If the service cannot store the part, it
        sends Forget for the part's clients.
        """
        self._end_early = False
        async with aclosing(
            self.drafter.draft(request.works, request.seconds, lambda: True)
        ) as parts:
            async for part in parts:
                self.drafter.keep(get_newest_texts(part.reasoned))
                bodies = pack_bodies_now(list_texts(part.reasoned))
                rows = pack_reasoned(part.reasoned, bodies, part.summaries)
                is_last = part.is_last or self._end_early
                self._send(DraftedPart(part.summaries, rows, part.texts, is_last))
                if is_last:
                    break

    def _send(self, message: object) -> None:
        """Write the length of a pickle, then the pickle.

        The asynchronous reader needs to know how many bytes to read.
        """
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._answers.write(len(body).to_bytes(LENGTH_BYTES, "little") + body)
        self._answers.flush()


async def _yield_to_nobody() -> None:
    """Do nothing: no other work is on this loop."""


if __name__ == "__main__":
    main()
