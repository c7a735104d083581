"""What users' interactions were when they were learned: what the numbers need to take some of them back."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from propagation.model.client import index_of
from propagation.model.interaction import InteractionRow
from propagation.model.lineage import RouterMaps
from propagation.model.withdrawal import Written
from propagation.ports.embedder import Embedder
from propagation.ports.graph import ForgettingGraph
from propagation.workflow.beside import beside
from propagation.workflow.subtraction import History
from propagation.workflow.texts import attribute_text, content_text

USERS_A_PART = 200
CLIENTS_A_READ = 2_000
Direction = Callable[[int, NDArray[np.float32]], NDArray[np.float32]]

def in_routers_of_now(written: Written, rows: Sequence[InteractionRow], maps: RouterMaps) -> Written:
    """The same, in router numbers of the current epoch: through the maps of the runs that were published since."""
    if not len(written.sequence):
        return written
    user_of = {row.sequence: index_of(row.user) for row in rows}
    users = np.array([user_of[int(sequence)] for sequence in written.sequence], np.int64)
    routers = written.routers.copy()
    ages = np.searchsorted(sorted({one.through for one in maps.maps}), written.sequence)
    for age in np.unique(ages):
        mine = ages == age
        routers[mine, 1] = maps.after(int(written.sequence[mine][0])).mapped(routers[mine, 1], users[mine])
    return replace(written, routers=routers)


class Histories:
    """Reads the log."""

    def __init__(self, store: ForgettingGraph, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    async def parts(self, users: Sequence[int], gone: frozenset[int], through: int,
                    direction: Direction) -> AsyncIterator[list[History]]:
        """Histories of these users (refs), some at a time, of what was learned through a sequence. `direction`: the content vector
        of an item by row and text vector (see NumbersView.direction_of)."""
        parts = [users[start : start + USERS_A_PART] for start in range(0, len(users), USERS_A_PART)]
        found: list[History] = []
        for some in parts:
            async with beside(self._part(some, gone, through, direction)) as reading:  # while the caller works on the part before
                if found:
                    yield found
                found = await reading
        if found:
            yield found

    async def _part(self, some: Sequence[int], gone: frozenset[int], through: int, direction: Direction) -> list[History]:
        by_user: dict[int, list[InteractionRow]] = defaultdict(list)
        for row in await self._store.all_interactions(some):
            if row.sequence <= through:
                by_user[row.user].append(row)
        changed = await self._changed({row.item: row.sequence for rows in by_user.values() for row in reversed(rows)})
        return [await self._history(user, by_user[user], gone, changed, direction) for user in some]

    async def _changed(self, first: dict[int, int]) -> dict[int, int]:
        """Items that changed after a sequence of theirs, and when."""
        found = {}
        items = sorted(first)
        for start in range(0, len(items), CLIENTS_A_READ):
            for client in await self._store.get_clients(items[start : start + CLIENTS_A_READ]):
                found[client.ref] = client.sequence
        return found

    async def _history(self, user: int, rows: Sequence[InteractionRow], gone: frozenset[int], changed: dict[int, int],
                       direction: Direction) -> History:
        then = {}
        for place, row in enumerate(rows):
            if changed.get(row.item, 0) > row.sequence:
                (client,) = await self._store.get_clients([row.item], row.sequence)
                content, attributes = await self._embedder.embed([content_text(client), attribute_text(client)])
                then[place] = (direction(index_of(row.item), content), attributes)
        sequence = np.array([row.sequence for row in rows], np.int64)
        return History(user=index_of(user), sequence=sequence, item=np.array([index_of(row.item) for row in rows], np.int64),
                       weight=np.array([row.weight for row in rows], np.float64),
                       gone=np.array([row.sequence in gone for row in rows], np.bool_), then=then)


