"""The model's server as a process that can be killed and started again."""

import asyncio
import os
import signal
from pathlib import Path

SERVER = Path(__file__).parent / "llama_server.py"
START_SECONDS = 60
SLOTS, CONTEXT_TOKENS = 4, 4096
# Threads of OpenMP that wait otherwise take the cores from all other processes.
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}


class ModelServer:
    """Serves the model at one port.

    Args:
        python: The interpreter of the environment that has the model.
        log: File for what the server prints.
    """

    def __init__(self, python: str, port: int, log: Path) -> None:
        self._command = (python, str(SERVER), str(port), str(SLOTS), str(CONTEXT_TOKENS))
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self.base_url = f"http://127.0.0.1:{port}/v1"

    async def start(self) -> None:
        """Start the server, and wait until it listens."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=os.environ | PASSIVE,
            )
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), START_SECONDS)
        if not line:
            raise AssertionError(f"the model did not start: {self._log.read_text()[-2_000:]}")

    async def kill(self) -> None:
        """End the server as `kill -9` does."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
            await self._process.wait()
