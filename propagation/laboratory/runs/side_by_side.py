"""Runs parts side by side, unless they compute."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

Work = Callable[[], Awaitable[None]]
MOST_TOGETHER = 4
"""So many parts fill the gaps at each other's ends; more only keep more questions in memory."""


async def run_side_by_side(
    in_turn: Sequence[Work], together: Sequence[Work], most: int = MOST_TOGETHER
) -> None:
    """Run computing parts one after the other, and waiting ones beside them.

    Args:
        in_turn: Parts that compute: each begins when the one before it has ended.
        together: Parts that wait for an endpoint: they begin in their order, at most `most` at a
            time.

    Raises:
        Exception: A part's; the others are cancelled first.
    """
    places = asyncio.Semaphore(most)

    async def run_in_turn() -> None:
        for work in in_turn:
            await work()

    async def run_when_free(work: Work) -> None:
        async with places:
            await work()

    tasks = [asyncio.ensure_future(run_in_turn())]
    tasks += [asyncio.ensure_future(run_when_free(work)) for work in together]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
