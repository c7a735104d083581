"""The drafter whose child process drafts texts, which this process commits.

Messages in both directions are pickles, since both processes are one program.
"""

import asyncio
import pickle
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from propagation.adapters.sqlite.reason.reasoned_rows import PackedReasoned
from propagation.model import ClientText, PropagationError, ReasonClaim, ReasonWork
from propagation.workflow.reason.drafting import DraftedPart
from propagation.workflow.settings import WorkflowSettings
from services.runtime.bound_process import build_bound_command

UNREAD_BYTES = 64 << 20
CLOSING_SECONDS = 5.0
LENGTH_BYTES = 8
# Asks the child to end its claim with the current part. A process that does not handle this signal
# yet is not ended by it.
END_EARLY_SIGNAL = signal.SIGURG


@dataclass(frozen=True)
class Begin:
    """The first message to the child: its database and its settings.

    The child reads the database, and reasons with the settings.
    """

    database: Path
    workflow: WorkflowSettings


@dataclass(frozen=True)
class DraftRequest:
    """A claim to draft.

    The child answers with DraftedParts; the claim ends with the last part, or with an error.

    Attributes:
        seconds: The time after which no further interaction is started.
    """

    works: Sequence[ReasonWork]
    seconds: float


@dataclass(frozen=True)
class Forget:
    """Clients whose texts the child must load again; it sends no answer."""

    refs: Sequence[int]


class PackedStore(Protocol):
    """The part of SqliteStore that the drafter needs; monitoring may wrap it."""

    async def commit_packed(
        self, claim: ReasonClaim, reasoned: PackedReasoned, *, more: bool = False
    ) -> None:
        """Commit the rows that the child packed."""


@dataclass
class ProcessDrafter:
    """A TextDrafter[PackedReasoned] whose child process drafts.

    The child starts with the first claim. If the child was killed, or sends no part for
    `part_timeout` seconds, it is started anew and its claim is drafted again.
    """

    store: PackedStore
    begin: Begin
    part_timeout: float = 30.0
    _process: Process | None = None
    _unread: bool = False
    _length: int | None = None
    _timeout: asyncio.Timeout | None = None

    async def draft(
        self, works: Sequence[ReasonWork], seconds: float, is_awaited: Callable[[], bool]
    ) -> AsyncGenerator[DraftedPart[PackedReasoned], None]:
        """Draft interactions in order.

        Each part comes when it is drafted; `is_awaited` is not asked.

        Raises:
            PropagationError: Drafting failed, or the child ended.
        """
        process = self._process or await self._start()
        while self._unread:  # parts of a claim that was given up
            await self._read_answer(process)
        self._send(process, DraftRequest(list(works), seconds))
        self._unread = True
        while self._unread:
            answer = await self._read_answer(process)
            if isinstance(answer, PropagationError):
                raise answer
            yield answer

    async def commit(self, claim: ReasonClaim, part: DraftedPart[PackedReasoned]) -> None:
        await self.store.commit_packed(claim, part.reasoned, more=not part.is_last)

    def keep(self, texts: Mapping[int, ClientText]) -> None:
        self.forget(texts)

    def forget(self, refs: Iterable[int]) -> None:
        if self._process is not None:
            self._send(self._process, Forget(list(refs)))

    def stop_early(self) -> None:
        if self._process is not None and self._unread:
            with suppress(ProcessLookupError):
                self._process.send_signal(END_EARLY_SIGNAL)

    def shorten_wait(self) -> None:
        self.part_timeout = CLOSING_SECONDS
        if self._timeout is not None:
            with suppress(RuntimeError):  # no answer is awaited any more
                self._timeout.reschedule(asyncio.get_running_loop().time() + CLOSING_SECONDS)

    async def close(self) -> None:
        """Close the child's pipe and wait for its end.

        After CLOSING_SECONDS the child is killed.
        """
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            await self._end(self._process, CLOSING_SECONDS)

    async def _start(self) -> Process:
        self._unread, self._length = False, None
        self._process = await asyncio.create_subprocess_exec(
            *build_bound_command("services.reasoning.child_process"),
            stdin=PIPE,
            stdout=PIPE,
            limit=UNREAD_BYTES,
        )
        self._send(self._process, self.begin)
        return self._process

    def _send(self, process: Process, message: object) -> None:
        assert process.stdin is not None
        with suppress(ConnectionError):  # if the child has ended, reading its answer will fail
            process.stdin.write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    async def _read_answer(self, process: Process) -> Any:
        """Read the next answer.

        If the caller is cancelled, the next call reads the same answer, whole.

        Raises:
            PropagationError: The child ended, or sent nothing for `part_timeout` seconds.
        """
        assert process.stdout is not None
        try:
            async with asyncio.timeout(self.part_timeout) as self._timeout:
                if self._length is None:
                    self._length = int.from_bytes(
                        await process.stdout.readexactly(LENGTH_BYTES), "little"
                    )
                body = await process.stdout.readexactly(self._length)
        except TimeoutError:
            await self._end(process, 0)
            raise PropagationError(
                f"the process that drafts texts sent nothing for {self.part_timeout:g} s; it will"
                " be restarted"
            ) from None
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            code = await self._end(process, CLOSING_SECONDS)
            raise PropagationError(
                f"the process that drafts texts ended (exit code {code}); it will be restarted"
            ) from error
        self._length = None
        answer = pickle.loads(body)
        self._unread = not (isinstance(answer, PropagationError) or answer.is_last)
        return answer

    async def _end(self, process: Process, seconds: float) -> int:
        """Wait for the child to exit; kill it after `seconds`.

        A child that has just ended is not killed: asyncio would lose its exit code.

        Returns:
            The exit code.
        """
        self._process = None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                while await process.stdout.read(UNREAD_BYTES):
                    pass
                return await process.wait()
        except (TimeoutError, ConnectionError):
            with suppress(ProcessLookupError):
                process.kill()
            return await process.wait()
