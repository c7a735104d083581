"""A method that is a program, which writes a file of scores.

So a method may have an environment of its own, with packages that the service does not install.
`docs/laboratory.md` describes the files, for one's own method.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from propagation.arrays import F64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.dependencies import digest
from propagation.laboratory.methods.method import Dependencies, MethodFailed, MethodNotInstalled
from propagation.laboratory.temporary_folder import make_temporary_folder
from propagation.model import ClientChange

HISTORY, QUESTIONS, ITEMS = "history.npz", "questions.npz", "items.jsonl"
SCORES, ERRORS = "scores.npy", "stderr.txt"
SUPERVISOR = Path(__file__).with_name("supervisor.py")
LAST_BYTES, MOST_SHOWN = 10_000, 300


@dataclass(frozen=True)
class Program:
    """Runs a program for each call.

    Attributes:
        command: The program with its arguments; the folder and the seed are added.
        source: The file whose content decides the scores.
        missing: What to do if the program or the file does not exist.
        minutes: After which the program is ended; None: never.
        items: The catalogue, in the order of rows, whose texts the program may read.
        list_packages: Lists the versions of its Python and of the packages that it computes with.
    """

    name: str
    command: Sequence[str]
    source: Path
    missing: str
    minutes: float | None = None
    items: Sequence[ClientChange] = ()
    list_packages: Callable[[], Dependencies] = dict

    @property
    def depends_on(self) -> Dependencies:
        if not Path(self.command[0]).exists():
            # Before anything else: costs are estimated only for what can run.
            raise MethodNotInstalled(f"{self.name}: {self.missing}")
        try:
            return {self.source.name: digest(self.source.read_bytes()), **self.list_packages()}
        except OSError as error:
            raise MethodNotInstalled(f"{self.name}: {self.missing}") from error

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        with make_temporary_folder() as folder:
            write_task(folder, history, questions)
            write_items(folder / ITEMS, self.items)
            with (folder / ERRORS).open("wb") as errors:
                code = await self._run_in_time(errors.fileno(), str(folder), str(seed))
            if code:
                raise MethodFailed(
                    f"{self.name}: the program ended with {code}: {_read_last_line(folder)}"
                )
            return read_scores(folder / SCORES, self.name, questions.candidates.shape)

    async def _run_in_time(self, errors: int, *arguments: str) -> int:
        try:
            async with asyncio.timeout(None if self.minutes is None else 60 * self.minutes):
                return await self._run(errors, *arguments)
        except TimeoutError as error:
            raise MethodFailed(
                f"{self.name}: the program was ended after {self.minutes:g} minutes; allow more"
                " with --program-minutes"
            ) from error

    async def _run(self, errors: int, *arguments: str) -> int:
        """Run the program with all that it starts; return its exit code.

        A supervisor ends it if this process is killed, which can end nothing then.
        """
        if shutil.which(self.command[0]) is None:
            raise MethodNotInstalled(f"{self.name}: {self.missing}")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-IS", str(SUPERVISOR), *self.command, *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        try:
            return await process.wait()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _read_last_line(folder: Path) -> str:
    try:
        said = (folder / ERRORS).read_bytes()[-LAST_BYTES:].decode(errors="replace")
    except OSError:
        said = ""
    return (said.strip().splitlines() or ["it said nothing"])[-1][:MOST_SHOWN]


def write_task(folder: Path, history: History, questions: Questions) -> None:
    """Write what a program reads: the history and the questions."""
    np.savez(
        folder / HISTORY,
        users=np.int64(history.users),
        items=np.int64(history.items),
        user=history.user,
        item=history.item,
        time=history.time,
    )
    np.savez(folder / QUESTIONS, **questions._asdict())


def write_items(path: Path, items: Sequence[ClientChange]) -> None:
    """Write the texts of items, a line of JSON for each row."""
    with path.open("w", encoding="utf-8") as file:
        for item in items:
            texts = {
                "id": item.key.id,
                "title": item.title or "",
                "description": item.description or "",
                "attributes": list(item.attributes or ()),
                "categories": list(item.categories or ()),
            }
            file.write(json.dumps(texts, ensure_ascii=False) + "\n")


def read_scores(path: Path, name: str, shape: tuple[int, ...]) -> F64:
    """Read the scores that a program wrote.

    Raises:
        MethodFailed: The file is missing, or does not hold a finite score for each candidate.
    """
    try:
        with path.open("rb") as file:
            scores = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise MethodFailed(f"{name}: {path.name} cannot be read: {error}") from error
    if not isinstance(scores, np.ndarray):
        raise MethodFailed(f"{name}: {path.name} holds several arrays; write one with numpy.save")
    if scores.shape != shape:
        raise MethodFailed(f"{name}: {path.name} has shape {scores.shape}; it must have {shape}")
    if scores.dtype.kind not in "fiub" or not np.isfinite(scores).all():
        raise MethodFailed(f"{name}: {path.name} has scores that are not finite real numbers")
    return scores.astype(np.float64)
