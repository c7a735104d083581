"""Drafting by a process beside this one; what it drafts is committed here."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from propagation.adapters.sqlite.reason.reasoned_rows import PackedReasoned
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model.clients.client_text import ClientText
from propagation.model.errors import PropagationError, StoreBusy, StoreCorrupt, StoreFull
from propagation.model.interactions.reasoning import ReasonClaim, ReasonWork
from propagation.workflow.reason.drafting import Drafts
from services.reasoning.pipe_protocol import (
    ENOUGH,
    LENGTH_BYTES,
    Begin,
    Draft,
    Failed,
    Forget,
    of_body,
    to_frame,
)

COMMAND = (sys.executable, "-m", "services.reasoning.child_process")
UNREAD_BYTES = 64 << 20
CLOSING_SECONDS = 5.0
PATIENCE_SECONDS = 30.0


class Beside:
    """Drafting[PackedReasoned]. The process starts with the first claim, and anew after it was
    killed: the claim that it was at is drafted again. `patience`: seconds in which a part of a
    claim has to come."""

    def __init__(self, store: SqliteStore, begin: Begin) -> None:
        self._store = store
        self._begin = begin
        self._process: Process | None = None
        self._unread = False
        self._length: int | None = None
        self.patience = PATIENCE_SECONDS
        self._waiting: asyncio.Timeout | None = None

    @property
    def pid(self) -> int | None:
        """Of the process, where it runs."""
        return self._process.pid if self._process else None

    async def drafts(
        self, works: Sequence[ReasonWork], seconds: float, wanted: Callable[[], bool]
    ) -> AsyncGenerator[Drafts[PackedReasoned], None]:
        """See Drafting; parts come as they are made, wanted or not. Raises what drafting raised,
        and PropagationError where the process ended."""
        process = self._process or await self._start()
        while self._unread:  # of a claim that was given up
            await self._answer(process)
        self._send(process, Draft(list(works), seconds))
        self._unread = True
        while self._unread:
            answer = await self._answer(process)
            if isinstance(answer, Failed):
                raise _as_error(answer)
            yield answer

    async def commit(self, claim: ReasonClaim, drafts: Drafts[PackedReasoned]) -> None:
        await self._store.commit_packed(claim, drafts.reasoned, more=not drafts.last)

    def committed(self, texts: Mapping[int, ClientText]) -> None:
        self.forget(texts)

    def forget(self, refs: Iterable[int]) -> None:
        if self._process is not None:
            self._send(self._process, Forget(list(refs)))

    def enough(self) -> None:
        if self._process is not None and self._unread:
            with suppress(ProcessLookupError):
                self._process.send_signal(ENOUGH)

    def hurry(self) -> None:
        self.patience = CLOSING_SECONDS
        if self._waiting is not None:
            with suppress(RuntimeError):  # it is over
                self._waiting.reschedule(asyncio.get_running_loop().time() + CLOSING_SECONDS)

    async def close(self) -> None:
        """It ends with what it is at."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(CLOSING_SECONDS):
                while await process.stdout.read(UNREAD_BYTES):
                    pass
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _start(self) -> Process:
        self._unread, self._length = False, None
        self._process = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=PIPE, stdout=PIPE, limit=UNREAD_BYTES
        )
        self._send(self._process, self._begin)
        return self._process

    def _send(self, process: Process, message: object) -> None:
        """A process that is no more is noticed when its answer is read."""
        assert process.stdin is not None
        with suppress(ConnectionError):
            process.stdin.write(to_frame(message))

    async def _answer(self, process: Process) -> Any:
        """The next; a caller that is cancelled leaves it whole."""
        assert process.stdout is not None
        try:
            async with asyncio.timeout(self.patience) as self._waiting:
                if self._length is None:
                    self._length = int.from_bytes(
                        await process.stdout.readexactly(LENGTH_BYTES), "little"
                    )
                body = await process.stdout.readexactly(self._length)
        except TimeoutError:
            await self._killed(process)
            raise PropagationError(
                f"the process that reasons was silent for {self.patience:g} s; it is started again"
            ) from None
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            code = await self._killed(process)
            raise PropagationError(
                f"the process that reasons ended by itself (exit code {code}); it is started again"
            ) from error
        self._length = None
        answer = of_body(body)
        self._unread = not (isinstance(answer, Failed) or answer.last)
        return answer

    async def _killed(self, process: Process) -> int:
        """Its exit code; the next claim starts another."""
        self._process = None
        with suppress(ProcessLookupError):
            process.kill()
        return await process.wait()


def _as_error(failed: Failed) -> PropagationError:
    """As it was raised there, where its message makes it whole."""
    for kind in (StoreBusy, StoreCorrupt, StoreFull):
        if failed.kind == kind.__name__:
            return kind(failed.told)
    return PropagationError(f"reasoning failed: {failed.kind}: {failed.told}; see the log")
