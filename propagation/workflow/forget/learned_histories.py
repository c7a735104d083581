"""Histories of users as they were when they were learned, for subtracting a part of them."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import numpy as np

from propagation.model import InteractionRow, LearnedWeights, RouterMaps, index_of
from propagation.ports import Embedder, GraphStore
from propagation.workflow.concurrency import background_task
from propagation.workflow.forget.number_changes import History
from propagation.workflow.index.embedding import attribute_text, content_text
from propagation.workflow.views import NumbersView

USERS_A_PART = 200


def in_current_routers(
    weights: LearnedWeights, rows: Sequence[InteractionRow], maps: RouterMaps
) -> LearnedWeights:
    """Map the taste routers of learned weights to those of the current epoch.

    Args:
        rows: The interactions of the weights.
        maps: Maps of the evolutions that were published since.
    """
    user_of = {row.sequence: index_of(row.user) for row in rows}
    users = np.array([user_of[int(sequence)] for sequence in weights.sequence], np.int64)
    routers = weights.routers.copy()
    ages = np.searchsorted(sorted({one.through for one in maps.maps}), weights.sequence)
    for age in np.unique(ages):
        same_age = ages == age
        chain = maps.after(int(weights.sequence[same_age][0]))
        routers[same_age, 1] = chain.map_routers(routers[same_age, 1], users[same_age])
    return replace(weights, routers=routers)


async def load_histories(
    store: GraphStore,
    embedder: Embedder,
    users: Sequence[int],
    gone: frozenset[int],
    view: NumbersView,
) -> AsyncIterator[list[History]]:
    """Yield what users chose and the view learned, 200 users at a time.

    The next ones are loaded while the caller works.

    Args:
        users: Refs.
        gone: Sequences of the interactions that are withdrawn.
    """
    loaded: list[History] = []
    for start in range(0, len(users), USERS_A_PART):
        part = users[start : start + USERS_A_PART]
        async with background_task(_load(store, embedder, part, gone, view)) as loading:
            if loaded:
                yield loaded
            loaded = await loading
    if loaded:
        yield loaded


async def _load(
    store: GraphStore,
    embedder: Embedder,
    users: Sequence[int],
    gone: frozenset[int],
    view: NumbersView,
) -> list[History]:
    choices = await store.user_choices(users)
    is_gone = np.isin(choices.sequence, np.fromiter(gone, np.int64, len(gone)))
    histories = []
    for user in users:
        places = np.flatnonzero((choices.user == user) & (choices.sequence <= view.applied_through))
        sequence, item = choices.sequence[places], choices.item[places]
        then = {}
        for place in np.flatnonzero(choices.changed[places] > sequence).tolist():
            (client,) = await store.get_clients([int(item[place])], int(sequence[place]))
            content, attributes = await embedder.embed(
                [content_text(client), attribute_text(client)]
            )
            then[place] = (view.direction_of(index_of(client.ref), content), attributes)
        histories.append(
            History(
                user=index_of(user),
                sequence=sequence,
                item=item >> 1,
                weight=choices.weight[places],
                gone=is_gone[places],
                then=then,
            )
        )
    return histories
