"""The other end of beside.py: reads the graph, drafts, answers. It writes nothing, and ends when
the service does."""

import asyncio
import fcntl
import logging
import os
import signal
import sys
from contextlib import aclosing, suppress
from typing import BinaryIO

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.reason.interaction_reader import SqliteInteractionReader
from propagation.adapters.sqlite.reason.reasoned_rows import packed, texts_of
from propagation.adapters.sqlite.reason.texts import bodies_now
from propagation.model.errors import PropagationError
from propagation.workflow.reason.drafting import Drafter, Drafts, newest_of
from propagation.workflow.reason.interaction import InteractionReasoning
from propagation.workflow.views.client_texts import client_text_cache
from services.reasoning.pipe_protocol import (
    ENOUGH,
    Begin,
    Draft,
    Failed,
    Forget,
    read_frame,
    to_frame,
)
from services.runtime.process import collect_garbage_rarely

PART = 64
NICER = 10
PIPE_BYTES = 1 << 20
log = logging.getLogger(__name__)


class Enough:
    """Whether the service wants no more of the claim that is drafted: it says so by a signal, for
    the pipe is not read meanwhile, and again and again for as long as it holds: one that comes
    between two claims is of no use."""

    def __init__(self) -> None:
        self.said = False

    def say(self, *_: object) -> None:
        self.said = True


def main() -> None:
    """Until the service closes its end. A signal to the whole group is the service's affair: it
    ends this process last. Calls are answered first: this one is nicer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    enough = Enough()
    signal.signal(ENOUGH, enough.say)
    os.nice(NICER)
    collect_garbage_rarely()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    if hasattr(
        fcntl, "F_SETPIPE_SZ"
    ):  # so that an answer is written while the service is at something else
        with suppress(OSError):
            fcntl.fcntl(answers.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    try:
        asyncio.run(_serve(sys.stdin.buffer, answers, enough))
    except BrokenPipeError:
        os._exit(0)


async def _serve(requests: BinaryIO, answers: BinaryIO, enough: Enough) -> None:
    begin: Begin | None = read_frame(requests)
    if begin is None:
        return
    working_set = SqliteInteractionReader(begin.database)
    drafter = Drafter(
        InteractionReasoning(
            working_set,
            OfflineReasoner(begin.workflow.profile_lines),
            begin.workflow,
            client_text_cache(working_set),
            _at_once,
        ),
        PART,
    )
    while (request := read_frame(requests)) is not None:
        if isinstance(request, Forget):
            drafter.interactions.forget(request.refs)
            continue
        try:
            await _draft(drafter, request, answers, enough)
        except BrokenPipeError:
            raise
        except Exception as error:
            if not isinstance(error, PropagationError):
                log.exception("drafting failed")
            _answer(answers, Failed(type(error).__name__, str(error)))


async def _draft(drafter: Drafter, request: Draft, answers: BinaryIO, enough: Enough) -> None:
    """What is sent counts as stored: where it is not, its clients are forgotten before the next
    request."""
    enough.said = False
    async with aclosing(drafter.drafts(request.works, request.seconds, lambda: True)) as parts:
        async for drafts in parts:
            drafter.interactions.committed(newest_of(drafts.reasoned))
            rows = packed(drafts.reasoned, bodies_now(texts_of(drafts.reasoned)))
            last = drafts.last or enough.said
            _answer(
                answers,
                Drafts(finished=drafts.finished, reasoned=rows, said=drafts.said, last=last),
            )
            if last:
                break


def _answer(answers: BinaryIO, message: object) -> None:
    answers.write(to_frame(message))
    answers.flush()


async def _at_once() -> None:
    """Nobody else is on this loop."""


if __name__ == "__main__":
    main()
