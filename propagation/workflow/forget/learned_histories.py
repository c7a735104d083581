"""What users' interactions were when they were learned: what the numbers need to take some of them
back."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.client import index_of
from propagation.model.interactions.interaction import InteractionRow
from propagation.model.interactions.withdrawal import LearnedWeights, UserChoices
from propagation.model.routers.router_maps import RouterMaps
from propagation.ports.embedder import Embedder
from propagation.ports.graph.graph_store import ForgettingGraph
from propagation.workflow.concurrency.tasks import background_task
from propagation.workflow.forget.number_changes import History
from propagation.workflow.index.embedding import attribute_text, content_text

USERS_A_PART = 200
Direction = Callable[[int, NDArray[np.float32]], NDArray[np.float32]]


def in_routers_of_now(
    written: LearnedWeights, rows: Sequence[InteractionRow], maps: RouterMaps
) -> LearnedWeights:
    """The same, in router numbers of the current epoch: through the maps of the runs that were
    published since."""
    if not len(written.sequence):
        return written
    user_of = {row.sequence: index_of(row.user) for row in rows}
    users = np.array([user_of[int(sequence)] for sequence in written.sequence], np.int64)
    routers = written.routers.copy()
    ages = np.searchsorted(sorted({one.through for one in maps.maps}), written.sequence)
    for age in np.unique(ages):
        mine = ages == age
        routers[mine, 1] = maps.after(int(written.sequence[mine][0])).map_routers(
            routers[mine, 1], users[mine]
        )
    return replace(written, routers=routers)


class Histories:
    """Reads the log."""

    def __init__(self, store: ForgettingGraph, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    async def parts(
        self, users: Sequence[int], gone: frozenset[int], through: int, direction: Direction
    ) -> AsyncIterator[list[History]]:
        """Histories of these users (refs), some at a time, of what was learned through a sequence.
        `direction`: the content vector of an item by row and text vector (see
        NumbersView.direction_of)."""
        parts = [
            users[start : start + USERS_A_PART] for start in range(0, len(users), USERS_A_PART)
        ]
        found: list[History] = []
        for some in parts:
            async with background_task(
                self._part(some, gone, through, direction)
            ) as reading:  # while the caller works on the part before
                if found:
                    yield found
                found = await reading
        if found:
            yield found

    async def _part(
        self, some: Sequence[int], gone: frozenset[int], through: int, direction: Direction
    ) -> list[History]:
        choices = await self._store.user_choices(some)
        going = np.isin(choices.sequence, np.fromiter(gone, np.int64, len(gone)))
        return [
            await self._history(
                user,
                choices,
                np.flatnonzero((choices.user == user) & (choices.sequence <= through)),
                going,
                direction,
            )
            for user in some
        ]

    async def _history(
        self,
        user: int,
        choices: UserChoices,
        mine: NDArray[np.int64],
        going: NDArray[np.bool_],
        direction: Direction,
    ) -> History:
        sequence, item = choices.sequence[mine], choices.item[mine]
        then = {}
        for place in np.flatnonzero(choices.changed[mine] > sequence).tolist():
            (client,) = await self._store.get_clients([int(item[place])], int(sequence[place]))
            content, attributes = await self._embedder.embed(
                [content_text(client), attribute_text(client)]
            )
            then[place] = (direction(index_of(client.ref), content), attributes)
        return History(
            user=index_of(user),
            sequence=sequence,
            item=item >> 1,
            weight=choices.weight[mine],
            gone=going[mine],
            then=then,
        )
