"""One pass of one seed: start as the service starts (OFFLINE_ROUTING.md, State), then predict and learn event by event."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from propagation.evaluation.arms import RANKINGS, evaluation_combiner
from propagation.evaluation.controls import new_controls
from propagation.evaluation.expectation import log_factorials
from propagation.evaluation.prequential import evaluate_block
from propagation.evaluation.settings import EvaluationSettings
from propagation.evaluation.stream import Stream
from propagation.numbers.growth import with_room
from propagation.numbers.mass import start_mass
from propagation.numbers.state import ITEMS, USERS, State, new_state
from propagation.ports.embedder import FittableEmbedder
from propagation.routing.clustering import random_directions, spherical_kmeans

F32 = NDArray[np.float32]
BLOCK = 500
MEASURES = 4


def run_pass(stream: Stream, content: F32, attributes: F32, settings: EvaluationSettings, seed: int,
             progress: Callable[[int], None]) -> NDArray[np.float64]:
    """[E,R,4] of a shuffled stream: N@10 and HR@1 against any 9, then against 9 of the target's kind (adopted before or
    not); NaN where not ranked. content, attributes [I,D]. `progress` hears how many events of this pass are done."""
    state = started(stream, content, attributes, settings, seed)
    combiner, controls = evaluation_combiner(), new_controls(state, stream.users, stream.items, seed)
    events = len(stream.user)
    seeds = np.random.default_rng(seed).integers(0, 2**63, events).astype(np.uint64)
    ranked = np.arange(events) % settings.every == 0
    logs = log_factorials(stream.items)
    out = np.full((events, len(RANKINGS), MEASURES), np.nan)
    for start in range(0, events, BLOCK):
        part = slice(start, start + BLOCK)
        evaluate_block(state, combiner, controls, stream.user[part], stream.item[part], seeds[part], ranked[part],
                       stream.items, logs, out[part])
        progress(min(start + BLOCK, events))
    return out


def started(stream: Stream, content: F32, attributes: F32, settings: EvaluationSettings, seed: int) -> State:
    """The state before the first event: the whole catalogue known, routers from k-means of its content."""
    content = content.copy()
    textless = ~content.any(axis=1)
    content[textless] = random_directions(np.random.default_rng(seed), int(textless.sum()), content.shape[1])
    session, taste = spherical_kmeans(content, settings.session_k, seed), spherical_kmeans(content, settings.taste_k, seed + 1)
    state = new_state(session, taste, seed)
    state = with_room(state, stream.users, stream.items, len(stream.user))
    state.content[: stream.items] = content
    state.attributes[: stream.items] = attributes
    state.visible[: stream.items] = True
    state.clock[USERS], state.clock[ITEMS], state.totals[1] = stream.users, stream.items, stream.items
    for item in range(stream.items):
        start_mass(state.session, item, state.content[item])
        start_mass(state.taste, item, state.content[item])
    return state


async def item_vectors(stream: Stream, embedder: FittableEmbedder, seed: int) -> tuple[F32, F32]:
    """(content, attributes) [I,D] by the embedder fitted on this catalogue; its state changes."""
    embedder.restore(embedder.fit(stream.item_texts, seed))
    return await embedder.embed(stream.item_texts), await embedder.embed(stream.attribute_texts)
