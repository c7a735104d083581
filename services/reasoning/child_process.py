"""The process that drafts texts: it reads the database and its pipe, and writes answers only.

It ends when the service closes the pipe.
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
from propagation.adapters.sqlite.interaction_reader import SqliteInteractionReader
from propagation.adapters.sqlite.reason.reasoned_rows import packed, texts_of
from propagation.adapters.sqlite.reason.texts import bodies_now
from propagation.model import PropagationError
from propagation.workflow.reason.drafting import ClaimDrafter, DraftedPart
from propagation.workflow.reason.interaction import InteractionReasoning, newest_texts
from services.reasoning.pipe_messages import (
    END_EARLY_SIGNAL,
    Begin,
    Draft,
    DraftingFailed,
    Forget,
    frame,
)
from services.runtime.process import collect_garbage_rarely

PART = 64
NICENESS = 10
PIPE_BYTES = 1 << 20
log = logging.getLogger(__name__)


class EndEarlyRequest:
    """Whether the service wants no more of the claim under way.

    The service asks by a signal, since the pipe is not read meanwhile, and repeats it; one that
    comes between two claims has no effect.
    """

    def __init__(self) -> None:
        self.received = False
        signal.signal(END_EARLY_SIGNAL, self._receive)

    def _receive(self, *_: object) -> None:
        self.received = True


def main() -> None:
    """Draft claims until the service closes the pipe.

    Signals to the process group are ignored: the service ends this process last.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_early = EndEarlyRequest()
    os.nice(NICENESS)  # calls go first
    collect_garbage_rarely()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # an answer is written whole while the service is busy
            fcntl.fcntl(answers.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    try:
        asyncio.run(_serve(sys.stdin.buffer, answers, end_early))
    except BrokenPipeError:
        os._exit(0)


async def _serve(requests: BinaryIO, answers: BinaryIO, end_early: EndEarlyRequest) -> None:
    with suppress(EOFError, pickle.UnpicklingError):  # the service closed the pipe
        drafter = _drafter(pickle.load(requests))
        while True:
            request = pickle.load(requests)
            if isinstance(request, Forget):
                drafter.forget(request.refs)
            else:
                await _answer(drafter, request, answers, end_early)


def _drafter(begin: Begin) -> ClaimDrafter:
    reader = SqliteInteractionReader(begin.database)
    interactions = InteractionReasoning(
        reader,
        OfflineReasoner(begin.workflow.profile_lines),
        begin.workflow,
        _yield_to_nobody,
    )
    return ClaimDrafter(interactions, PART)


async def _answer(
    drafter: ClaimDrafter, request: Draft, answers: BinaryIO, end_early: EndEarlyRequest
) -> None:
    try:
        await _draft(drafter, request, answers, end_early)
    except BrokenPipeError:
        raise
    except Exception as error:
        if not isinstance(error, PropagationError):
            log.exception("drafting failed")
        _send(answers, DraftingFailed(type(error).__name__, str(error)))


async def _draft(
    drafter: ClaimDrafter, request: Draft, answers: BinaryIO, end_early: EndEarlyRequest
) -> None:
    """Draft a claim and send its parts.

    A part that was sent counts as stored; the service has its clients forgotten if it is not.
    """
    end_early.received = False
    async with aclosing(drafter.draft(request.works, request.seconds, lambda: True)) as parts:
        async for part in parts:
            drafter.keep(newest_texts(part.reasoned))
            rows = packed(part.reasoned, bodies_now(texts_of(part.reasoned)))
            is_last = part.is_last or end_early.received
            _send(
                answers,
                DraftedPart(
                    summaries=part.summaries, reasoned=rows, texts=part.texts, is_last=is_last
                ),
            )
            if is_last:
                break


def _send(answers: BinaryIO, message: object) -> None:
    answers.write(frame(message))
    answers.flush()


async def _yield_to_nobody() -> None:
    """Do nothing: no other work is on this loop."""


if __name__ == "__main__":
    main()
