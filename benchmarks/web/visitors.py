"""Visitors of the page in a process of their own.

Run `python -m benchmarks.web.visitors ADDRESS VISITORS`. Each visitor follows the live parts of a
view, and opens another view every VIEW_SECONDS, until the input is closed. Then the program prints
{"frames", "views", "slowest_s"}.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from benchmarks.run import Run
from propagation.forced_exit import clean_up_by

LIVE_VIEWS = ("now", "routers")
VIEWS = ("/", "/routers", "/clients", "/evolution", "/history", "/failures")
VIEW_SECONDS = 20.0
CALL_SECONDS = 30.0


@contextmanager
def visiting(address: str, visitors: int, run: Run) -> Iterator[None]:
    """Let visitors look while the body runs, then note what they saw."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.web.visitors", address, str(visitors)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with clean_up_by(process.kill):
        try:
            process.stdout.readline()
            yield
        finally:
            rest, _ = process.communicate(timeout=CALL_SECONDS + 30)
    seen = json.loads(rest)
    run.note(
        f"{visitors} visitors got {seen['frames']:,} frames and {seen['views']:,} views, the"
        f" slowest after {seen['slowest_s']:.2f} s"
    )
    if not seen["frames"]:
        raise RuntimeError("no visitor got a frame")


class Visitors:
    """Visitors, each with cookies of her own."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.frames = 0
        self.views = 0
        self.slowest = 0.0

    async def look(self, number: int, stopping: asyncio.Event) -> None:
        """Keep a live view open, and open other views now and then."""
        async with httpx2.AsyncClient(
            base_url=self._address, timeout=CALL_SECONDS, trust_env=False
        ) as http:
            await self._open(http, "/")
            following = asyncio.create_task(self._follow(http, LIVE_VIEWS[number % 2]))
            while not (stopping.is_set() or following.done()):
                await self._open(http, VIEWS[(number + self.views) % len(VIEWS)])
                try:
                    async with asyncio.timeout(VIEW_SECONDS):
                        await stopping.wait()
                except TimeoutError:
                    continue
            if following.done():
                following.result()
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _open(self, http: httpx2.AsyncClient, view: str) -> None:
        started = time.perf_counter()
        answer = await http.get(view)
        answer.raise_for_status()
        self.views += 1
        self.slowest = max(self.slowest, time.perf_counter() - started)

    async def _follow(self, http: httpx2.AsyncClient, view: str) -> None:
        async with http.stream("GET", f"/live?view={view}") as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                self.frames += line.startswith("event: frame")
        raise RuntimeError("the page ended a live view")


async def main(address: str, count: int) -> None:
    visitors, stopping = Visitors(address), asyncio.Event()
    looking = asyncio.gather(*(visitors.look(number, stopping) for number in range(count)))
    await asyncio.sleep(2)
    print("running", flush=True)
    ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    await asyncio.wait([ended, looking], return_when=asyncio.FIRST_COMPLETED)
    stopping.set()
    await looking
    print(
        json.dumps(
            {"frames": visitors.frames, "views": visitors.views, "slowest_s": visitors.slowest}
        )
    )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
