"""Small states for tests of the numbers."""

import numpy as np

from propagation.numbers import ITEMS, LEARN, USERS, State, create_state, learn_block
from propagation.numbers.rules import Combiner, start_mass
from propagation.workflow.settings import RankerSettings
from propagation.workflow.views.numbers_view import create_live_combiner

K, DIMENSION = 20, 8
FACTORS = RankerSettings().factors


def small_state(users: int, items: int, seed: int = 3) -> State:
    """Make a state with random centres and content, and only visible items."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((2 * K + items, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    state = create_state(
        vectors[:K], vectors[K : 2 * K], seed, users=users, items=items, seen=1024, factors=FACTORS
    )
    state.clock[USERS], state.clock[ITEMS], state.totals[1] = users, items, items
    state.content[:] = state.attributes[:] = vectors[2 * K :]
    state.visible[:] = state.present[:] = True
    for item in range(items):
        start_mass(state.session, item, state.content[item])
        start_mass(state.taste, item, state.content[item])
    return state


class Learned:
    """The columns of a learned block."""

    def __init__(self, size: int) -> None:
        self.negatives = np.empty((size, 4), np.int32)
        self.scores = np.empty((size, 2), np.float32)
        self.cosines = np.empty((size, 5), np.float32)
        self.trust = np.empty((size, 2, K), np.float32)
        self.routers = np.empty((size, 2, 16), np.uint16)
        self.weights = np.empty((size, 2, 16), np.float32)


def learn(
    state: State,
    events: list[tuple[int, int]],
    weights: list[float] | None = None,
    given: list[int] | None = None,
    combiner: Combiner | None = None,
    first_seed: int = 100,
) -> Learned:
    """Learn (user, item) pairs; event n has the seed first_seed + n."""
    size = len(events)
    users, items = (np.array([event[place] for event in events], np.int64) for place in (0, 1))
    block = Learned(size)
    learn_block(
        state,
        combiner or create_live_combiner(),
        LEARN,
        users,
        items,
        np.zeros(size, np.int64),
        np.arange(size, dtype=np.uint32),
        np.array(given or [-1] * size, np.int64),
        np.array(weights or [1.0] * size),
        np.arange(first_seed, first_seed + size, dtype=np.uint64),
        block.negatives,
        block.scores,
        block.cosines,
        block.trust,
        block.routers,
        block.weights,
    )
    return block


def list_arrays(state: State) -> dict[str, np.ndarray]:
    """Return every array of a state by name, banks included."""
    found = {
        name: value for name, value in state._asdict().items() if isinstance(value, np.ndarray)
    }
    for bank in ("session", "taste", "factors"):
        parts = getattr(state, bank)._asdict().items()
        found |= {f"{bank}.{name}": value for name, value in parts if isinstance(value, np.ndarray)}
    return found
