"""A method that is a program, which writes a file of scores.

So a method may have an environment of its own, with packages that the service does not install.
`docs/laboratory.md` describes the files, for one's own method.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from propagation.arrays import F64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import MethodFailed, MethodNotInstalled

HISTORY, QUESTIONS, SCORES = "history.npz", "questions.npz", "scores.npy"


@dataclass(frozen=True)
class Program:
    """Runs a program for each call.

    Attributes:
        command: The program with its arguments; the folder and the seed are added.
        missing: What to do if the program does not exist.
    """

    name: str
    command: Sequence[str]
    missing: str

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        with tempfile.TemporaryDirectory(prefix="propagation-lab-") as folder:
            write_task(Path(folder), history, questions)
            await self._run(folder, str(seed))
            return read_scores(Path(folder) / SCORES, self.name, questions.candidates.shape)

    async def _run(self, *arguments: str) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        except (FileNotFoundError, PermissionError) as error:
            raise MethodNotInstalled(f"{self.name}: {self.missing}") from error
        try:
            _, errors = await process.communicate()
        except BaseException:
            process.kill()
            await process.wait()
            raise
        if process.returncode:
            said = errors.decode(errors="replace").strip().splitlines() or ["it said nothing"]
            raise MethodFailed(
                f"{self.name}: the program ended with {process.returncode}: {said[-1]}"
            )


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


def read_scores(path: Path, name: str, shape: tuple[int, ...]) -> F64:
    """Read the scores that a program wrote.

    Raises:
        MethodFailed: The file is missing, or does not hold a finite score for each candidate.
    """
    try:
        scores = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise MethodFailed(f"{name}: {path.name} cannot be read: {error}") from error
    if scores.shape != shape:
        raise MethodFailed(f"{name}: {path.name} has shape {scores.shape}; it must have {shape}")
    if not np.issubdtype(scores.dtype, np.number) or not np.isfinite(scores).all():
        raise MethodFailed(f"{name}: {path.name} has scores that are not finite numbers")
    checked: F64 = scores.astype(np.float64)
    return checked
