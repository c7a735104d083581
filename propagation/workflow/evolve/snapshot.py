"""What an evolution looks at: a copy of the taste bank and of what else it touches, taken back to T
(DESIGN, step 8)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propagation.numbers.evolve import retired
from propagation.numbers.holdout import MOST_BACK, Events, Tastes, rewind, rewind_content
from propagation.numbers.learn import CONTENT_DECAY
from propagation.numbers.rules.features import Feature
from propagation.numbers.state import LEAST_SUPPORT
from propagation.optimization.holdout_judge import deviation_of
from propagation.workflow.evolve.holdout import Holdout
from propagation.workflow.views.numbers_view import ON, NumbersView

F32 = NDArray[np.float32]
LEAST_NORM = 1e-9


@dataclass
class Snapshot:
    """Of all items: mass [I,K], adoptions [I]. Of all users: content [U,D], decayed sums of their
    items' embeddings. Of the holdout's users and items, as places: `events`, `tastes`, `contents`
    [H,D], `users`, `items` their rows. weights [9] and `deviation`: the live combiner's of the
    taste bank's lift. `known` [H]: events whose user's trust could be taken back so far."""

    through: int
    epoch: int
    mass: F32
    total: NDArray[np.float64]
    adoptions: NDArray[np.float64]
    totals: NDArray[np.float64]
    retired: frozenset[int]
    content: F32
    contents: F32
    events: Events
    tastes: Tastes
    users: NDArray[np.int64]
    items: NDArray[np.int64]
    weights: NDArray[np.float64]
    deviation: float
    known: NDArray[np.bool_]

    @property
    def routers(self) -> int:
        return len(self.total)

    @property
    def directions(self) -> F32:
        """[U,D] the users' unit vectors; zeros for one without history."""
        return directions_of(self.content)


def directions_of(content: F32) -> F32:
    """Rows [U,D] as unit vectors; zeros stay zeros."""
    norms = np.linalg.norm(content, axis=1, keepdims=True)
    found: F32 = content / np.maximum(norms, LEAST_NORM).astype(np.float32)
    return found


def take_snapshot(view: NumbersView, tail: Holdout) -> Snapshot:
    """Copies, where the view is owned: some 70 MB with 100,000 clients, a few hundredths of a
    second."""
    state, bank = view.state, view.state.taste
    users, user_places = np.unique(tail.users, return_inverse=True)
    items, places = np.unique(
        np.concatenate([tail.items, np.maximum(tail.negatives, 0)]), return_inverse=True
    )
    positive, negative = places[: len(tail)], places[len(tail) :]
    events = Events(
        user_places,
        positive,
        np.where(tail.negatives >= 0, negative, -1),
        tail.weights,
        tail.routers,
        tail.written,
    )
    tastes = Tastes(
        bank.mass[items].astype(np.float64),
        bank.total.copy(),
        bank.trust[users].astype(np.float64),
        state.adoptions[items],
        state.totals.copy(),
        state.history_length[users],
        users,
        bank.discount,
        bank.sharpness,
        float(state.limits[LEAST_SUPPORT]),
        state.seed,
    )
    return Snapshot(
        through=view.applied_through,
        epoch=view.epoch,
        mass=bank.mass[: view.items].copy(),
        total=bank.total.copy(),
        adoptions=state.adoptions[: view.items].copy(),
        totals=state.totals.copy(),
        retired=frozenset(np.flatnonzero(retired(bank)).tolist()),
        content=state.user_content[: view.users].copy(),
        contents=state.content[tail.items],
        events=events,
        tastes=tastes,
        users=users,
        items=items,
        weights=view.combiner.weights[ON, Feature.LIFT_TASTE].copy(),
        deviation=deviation_of(view.combiner, Feature.LIFT_TASTE),
        known=np.zeros(len(tail), np.bool_),
    )


def rewind_snapshot(sight: Snapshot) -> None:
    """To T: all of the holdout's events undone, in place."""
    rewind(sight.tastes, sight.events, sight.known)
    sight.mass[sight.items] = sight.tastes.mass
    sight.adoptions[sight.items] = sight.tastes.adoptions
    sight.total[:], sight.totals[:] = sight.tastes.total, sight.tastes.totals
    vectors = sight.content[sight.users].astype(np.float64)
    rewind_content(vectors, sight.events.user, sight.contents, CONTENT_DECAY, MOST_BACK)
    sight.content[sight.users] = vectors
