"""The drafter that drafts in a child process and commits itself.

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
from typing import Any

from propagation.adapters.sqlite.reason.reasoned_rows import PackedReasoned
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import ClientText, PropagationError, ReasonClaim, ReasonWork
from propagation.workflow.reason.drafting import DraftedPart
from propagation.workflow.settings import WorkflowSettings
from services.runtime.bound_process import build_bound_command

UNREAD_BYTES = 64 << 20
CLOSING_SECONDS = 5.0
LENGTH_BYTES = 8
# Asks the child to end its claim with the part under way. A process that does not handle this
# signal yet is not ended by it.
END_EARLY_SIGNAL = signal.SIGURG


@dataclass(frozen=True)
class Begin:
    """The first message to the child: its database and its settings.

    It reads the one and reasons with the others.
    """

    database: Path
    workflow: WorkflowSettings


@dataclass(frozen=True)
class DraftRequest:
    """A claim to draft.

    It is answered by DraftedParts up to the last one, or by one error.
    """

    works: Sequence[ReasonWork]
    seconds: float


@dataclass(frozen=True)
class Forget:
    """Clients whose texts are to be loaded again; not answered."""

    refs: Sequence[int]


@dataclass
class ProcessDrafter:
    """TextDrafter[PackedReasoned].

    The child starts with the first claim. If it was killed, or sends no part for `part_timeout`
    seconds, it is started anew and its claim is drafted again.
    """

    store: SqliteStore
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

        Parts come as they are made, whether the caller waits or not.

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
            with suppress(RuntimeError):  # it is over
                self._timeout.reschedule(asyncio.get_running_loop().time() + CLOSING_SECONDS)

    async def close(self) -> None:
        """Let the child finish its part and end."""
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
        with suppress(ConnectionError):  # reading its answer will tell that the child has ended
            process.stdin.write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    async def _read_answer(self, process: Process) -> Any:
        """Read the next answer.

        A caller that is cancelled leaves it whole for the next one.
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
                f"the process that drafts texts sent nothing for {self.part_timeout:g} s; it is "
                "started again"
            ) from None
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            code = await self._end(process, CLOSING_SECONDS)
            raise PropagationError(
                f"the process that drafts texts ended (exit code {code}); it is started again"
            ) from error
        self._length = None
        answer = pickle.loads(body)
        self._unread = not (isinstance(answer, PropagationError) or answer.is_last)
        return answer

    async def _end(self, process: Process, seconds: float) -> int:
        """Wait for the child to end, then kill it.

        Killing a child that has just ended would take its exit code away from asyncio.

        Args:
            seconds: How long to wait.

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
