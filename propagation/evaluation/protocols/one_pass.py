"""One pass of one seed: start as the service starts (OFFLINE_ROUTING.md, State), then predict and
learn event by event."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propagation.evaluation.kernels.arms import RANKINGS, evaluation_combiner
from propagation.evaluation.kernels.controls import new_controls
from propagation.evaluation.kernels.expectation import log_factorials
from propagation.evaluation.kernels.prequential import evaluate_block
from propagation.evaluation.protocols.event_schedule import Schedule
from propagation.evaluation.settings import EvaluationSettings
from propagation.evaluation.stream import Stream
from propagation.numbers.resize import with_room
from propagation.numbers.rules.mass import start_mass
from propagation.numbers.state import ITEMS, USERS, State, new_state
from propagation.ports.embedder import FittableEmbedder
from propagation.routing.initial_clustering import random_directions, spherical_kmeans

F32 = NDArray[np.float32]
BLOCK = 500
MEASURES = 5


@dataclass(frozen=True)
class Ranked:
    """What one pass measured. user [B] · values [B,R,5]: N@10 and HR@1 against any 9, the same
    against 9 of the target's kind (adopted before or not), N@10 against any 99; NaN where not
    ranked · past, adopters [B]: interactions of the user and adopters of the item that were known.
    """

    user: NDArray[np.int64]
    values: NDArray[np.float64]
    past: NDArray[np.int64]
    adopters: NDArray[np.int64]

    def at(self, rows: slice | NDArray[np.bool_]) -> "Ranked":
        """These events only."""
        return Ranked(self.user[rows], self.values[rows], self.past[rows], self.adopters[rows])


def run_pass(
    stream: Stream,
    schedule: Schedule,
    content: F32,
    attributes: F32,
    settings: EvaluationSettings,
    seed: int,
    progress: Callable[[int], None],
) -> Ranked:
    """One pass over a shuffled stream's schedule. content, attributes [I,D]. `progress` hears how
    many events of this pass are done."""
    state = started(stream, content, attributes, settings, seed)
    combiner, controls = (
        evaluation_combiner(),
        new_controls(state, stream.users, stream.items, seed, settings.tau),
    )
    events = len(schedule)
    seeds = np.random.default_rng(seed).integers(0, 2**63, events).astype(np.uint64)
    logs = log_factorials(stream.items)
    out = np.full((events, len(RANKINGS), MEASURES), np.nan)
    for start in range(0, events, BLOCK):
        part = slice(start, start + BLOCK)
        evaluate_block(
            state,
            combiner,
            controls,
            schedule.user[part],
            schedule.item[part],
            seeds[part],
            schedule.ranked[part],
            schedule.learned[part],
            stream.items,
            logs,
            out[part],
        )
        progress(min(start + BLOCK, events))
    return Ranked(schedule.user, out, *schedule.known())


def started(
    stream: Stream, content: F32, attributes: F32, settings: EvaluationSettings, seed: int
) -> State:
    """The state before the first event: the whole catalogue known, routers from k-means of its
    content."""
    content = content.copy()
    textless = ~content.any(axis=1)
    content[textless] = random_directions(
        np.random.default_rng(seed), int(textless.sum()), content.shape[1]
    )
    session, taste = (
        spherical_kmeans(content, settings.session_k, seed),
        spherical_kmeans(content, settings.taste_k, seed + 1),
    )
    state = new_state(session, taste, seed)
    state = with_room(state, stream.users, stream.items, len(stream.user))
    state.content[: stream.items] = content
    state.attributes[: stream.items] = attributes
    state.visible[: stream.items] = True
    state.clock[USERS], state.clock[ITEMS], state.totals[1] = (
        stream.users,
        stream.items,
        stream.items,
    )
    for item in range(stream.items):
        start_mass(state.session, item, state.content[item])
        start_mass(state.taste, item, state.content[item])
    return state


async def item_vectors(stream: Stream, embedder: FittableEmbedder, seed: int) -> tuple[F32, F32]:
    """(content, attributes) [I,D] by the embedder fitted on this catalogue; its state changes."""
    embedder.restore(embedder.fit(stream.item_texts, seed))
    return await embedder.embed(stream.item_texts), await embedder.embed(stream.attribute_texts)
