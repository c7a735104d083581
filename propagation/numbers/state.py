"""The state of the numbers: arrays by row of user or item.

The arrays grow by doubling.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propagation.model import NO_FACTORS, FactorSettings
from propagation.numbers.factors import Factors, create_factors
from propagation.numbers.limits import NO_LIMITS
from propagation.numbers.rules import EMPTY, HISTORY, NEIGHBOURS

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]
U32 = NDArray[np.uint32]


class Bank(NamedTuple):
    """K routers of one bank.

    Args:
        mass: N [I,K] f32.
        total: n [K] f64.
        trust: L [U,K] f32.
        centres: C [K,D] f32.
        discount: d.
        sharpness: g.
    """

    mass: F32
    total: NDArray[np.float64]
    trust: F32
    centres: F32
    discount: float
    sharpness: float


class State(NamedTuple):
    """All numbers, with room for I items and U users.

    Args:
        clock: [4] i64: interactions learned, used places of seen_item, users, items.
        totals: [2] f64: adoptions, items.
        present: [I] whether the catalogue has the item, which may be hidden; False for good once it
            is removed.
        day: [U] the UTC day on which a user last wrote mass; day_mass [U] how much on it.
        history_time: [U,50] u32 seconds since 1970 of each place in `history`; likewise seen_time
            of each adoption.
        seen_user: [S] i32 the user of each adoption; seen_catalogue [S] i32 how many items there
            were then.
        today: [1] the day that is being learned.
        limits: [2] f64: mass_min_support (1: off), user_mass_per_day (0: off); settings, and not
            learned.
    """

    session: Bank
    taste: Bank
    factors: Factors
    clock: NDArray[np.int64]
    totals: NDArray[np.float64]
    adoptions: NDArray[np.float64]
    recent: NDArray[np.float64]
    recent_at: NDArray[np.int64]
    content: F32
    attributes: F32
    adopters: F32
    item_profile: F32
    visible: NDArray[np.bool_]
    present: NDArray[np.bool_]
    neighbour: I32
    together: F32
    neighbour_count: I32
    near_slow: F32
    near_fast: F32
    user_content: F32
    user_attributes: F32
    user_profile: F32
    history: I32
    history_time: U32
    history_next: I32
    history_length: NDArray[np.int64]
    seen_last: NDArray[np.int64]
    seen_item: I32
    seen_user: I32
    seen_time: U32
    seen_catalogue: I32
    seen_before: NDArray[np.int64]
    seen_router: NDArray[np.uint16]
    seen_set: NDArray[np.int64]
    day: NDArray[np.int64]
    day_mass: NDArray[np.float64]
    today: NDArray[np.int64]
    limits: NDArray[np.float64]
    seed: np.uint64


INTERACTIONS, SEEN, USERS, ITEMS = range(4)
SESSION_DISCOUNT, SESSION_SHARPNESS = 0.85, 0.5
TASTE_DISCOUNT, TASTE_SHARPNESS = 0.97, 0.25

BY_ITEM = (
    "adoptions",
    "recent",
    "recent_at",
    "content",
    "attributes",
    "adopters",
    "item_profile",
    "visible",
    "present",
    "neighbour",
    "together",
    "neighbour_count",
    "near_slow",
    "near_fast",
)
BY_SEEN = (
    "seen_item",
    "seen_user",
    "seen_time",
    "seen_catalogue",
    "seen_before",
    "seen_router",
)
BY_USER = (
    "user_content",
    "user_attributes",
    "user_profile",
    "history",
    "history_time",
    "history_next",
    "history_length",
    "seen_last",
    "day",
    "day_mass",
)


def _create_bank(centres: F32, discount: float, sharpness: float, users: int, items: int) -> Bank:
    k = len(centres)
    return Bank(
        np.zeros((items, k), np.float32),
        np.zeros(k),
        np.zeros((users, k), np.float32),
        np.ascontiguousarray(centres, np.float32),
        discount,
        sharpness,
    )


def create_state(
    session_centres: F32,
    taste_centres: F32,
    seed: int,
    users: int = 1024,
    items: int = 1024,
    seen: int = 4096,
    factors: FactorSettings = NO_FACTORS,
) -> State:
    """Make an empty state for centres [K,D] of unit vectors."""
    dim = session_centres.shape[1]
    return State(
        session=_create_bank(session_centres, SESSION_DISCOUNT, SESSION_SHARPNESS, users, items),
        taste=_create_bank(taste_centres, TASTE_DISCOUNT, TASTE_SHARPNESS, users, items),
        factors=create_factors(factors, np.uint64(seed), users, items),
        clock=np.zeros(4, np.int64),
        totals=np.zeros(2),
        adoptions=np.zeros(items),
        recent=np.zeros(items),
        recent_at=np.zeros(items, np.int64),
        content=np.zeros((items, dim), np.float32),
        attributes=np.zeros((items, dim), np.float32),
        adopters=np.zeros((items, dim), np.float32),
        item_profile=np.zeros((items, dim), np.float32),
        visible=np.zeros(items, np.bool_),
        present=np.zeros(items, np.bool_),
        neighbour=np.zeros((items, NEIGHBOURS), np.int32),
        together=np.zeros((items, NEIGHBOURS), np.float32),
        neighbour_count=np.zeros(items, np.int32),
        near_slow=np.zeros(items, np.float32),
        near_fast=np.zeros(items, np.float32),
        user_content=np.zeros((users, dim), np.float32),
        user_attributes=np.zeros((users, dim), np.float32),
        user_profile=np.zeros((users, dim), np.float32),
        history=np.zeros((users, HISTORY), np.int32),
        history_time=np.zeros((users, HISTORY), np.uint32),
        history_next=np.zeros(users, np.int32),
        history_length=np.zeros(users, np.int64),
        seen_last=np.full(users, -1, np.int64),
        seen_item=np.zeros(seen, np.int32),
        seen_user=np.zeros(seen, np.int32),
        seen_time=np.zeros(seen, np.uint32),
        seen_catalogue=np.zeros(seen, np.int32),
        seen_before=np.zeros(seen, np.int64),
        seen_router=np.zeros((seen, 2), np.uint16),
        seen_set=np.full(2 * seen, EMPTY, np.int64),
        day=np.zeros(users, np.int64),
        day_mass=np.zeros(users),
        today=np.zeros(1, np.int64),
        limits=np.array(NO_LIMITS),
        seed=np.uint64(seed),
    )
