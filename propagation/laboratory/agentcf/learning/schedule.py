"""Runs steps side by side where their order does not matter."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """One step of an ordered work.

    Attributes:
        run: Does the step.
        changes: What it reads and changes.
        reads: What it reads and leaves as it is.
    """

    run: Callable[[], Awaitable[None]]
    changes: Collection[Hashable]
    reads: Collection[Hashable] = ()


async def run_in_order(steps: Sequence[Step]) -> None:
    """Run steps so that each sees exactly what earlier ones changed.

    A step waits for the last earlier step that changes what it needs, and for earlier readers of
    what it changes. So the result does not depend on how long a step takes.

    Raises:
        Exception: A step's; the others are cancelled first.
    """
    ended = [asyncio.Event() for _ in steps]

    async def run(place: int, waits_for: Collection[int]) -> None:
        for earlier in waits_for:
            await ended[earlier].wait()
        await steps[place].run()
        ended[place].set()

    tasks = [
        asyncio.ensure_future(run(place, earlier))
        for place, earlier in enumerate(find_dependencies(steps))
    ]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def find_dependencies(steps: Sequence[Step]) -> list[list[int]]:
    """Return the places of the steps that each waits for, ascending."""
    changed: dict[Hashable, int] = {}
    read: dict[Hashable, list[int]] = {}
    out = []
    for place, step in enumerate(steps):
        needed = {*step.changes, *step.reads}
        earlier = {changed[one] for one in needed if one in changed}
        for one in step.changes:
            earlier.update(read.pop(one, ()))
            changed[one] = place
        for one in step.reads:
            if one not in step.changes:
                read.setdefault(one, []).append(place)
        out.append(sorted(earlier - {place}))
    return out
