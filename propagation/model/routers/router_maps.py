"""Maps (old router, user) -> new router: how weights that were stored before an evolution are read
after it (DESIGN, step 8).

Stored weights are never rewritten. Whoever reads them (mass, erasure, a round) reads through the
maps of the runs that came after. Only the taste bank evolves: routers of the session bank keep
their numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Routers = NDArray[np.integer]


@dataclass(frozen=True)
class Halves:
    """A split: `in_second` [U] bool by user row says who goes to the second half; rows past its end
    go to the larger half. `share`: the first half's part (0..1) of the router's start mass."""

    first: int
    second: int
    in_second: NDArray[np.bool_]
    larger_is_second: bool
    share: float

    def of(self, users: Routers) -> NDArray[np.int64]:
        """The half of each user row."""
        second = np.full(users.shape, self.larger_is_second)
        known = users < len(self.in_second)
        second[known] = self.in_second[users[known]]
        return np.where(second, self.second, self.first)


@dataclass(frozen=True)
class RouterMap:
    """One published run. It maps weights of interactions up to `through` (the sequence of its
    barrier), written in `from_epoch` or before, to the routers of `to_epoch`.

    `home` [K before] i64: the new number of each router; of one that was split it is not used, see
    `halves`. `routers`: K after; `retired`: numbers below it that stand for no router any more.
    `centres` [K before, D] f32 and `start_shares` (each merged router's part, 0..1, of the start
    mass of what it was merged into) are for an undo, and so are `versions`: of each router that
    changed its newest text before the run."""

    run: int
    through: int
    from_epoch: int
    to_epoch: int
    home: NDArray[np.int64]
    routers: int
    centres: NDArray[np.float32]
    retired: frozenset[int] = frozenset()
    halves: Mapping[int, Halves] = field(default_factory=dict)
    start_shares: Mapping[int, float] = field(default_factory=dict)
    versions: Mapping[int, int] = field(default_factory=dict)
    undoes: int | None = None

    def map_routers(self, routers: Routers, users: Routers) -> NDArray[np.int64]:
        """The new routers of routers [B] or [B,W], written by user rows [B]."""
        out: NDArray[np.int64] = self.home[routers]
        wrote = users if routers.ndim == 1 else np.broadcast_to(users[:, None], routers.shape)
        for router, halves in self.halves.items():
            mine = routers == router
            if mine.any():
                out[mine] = halves.of(wrote[mine])
        return out

    def successors_of(self, router: int) -> tuple[int, ...]:
        """What a router became, for what belongs to no single user (rules, gradients): both halves
        of a split."""
        halves = self.halves.get(router)
        if halves is not None:
            return (halves.first, halves.second)
        return (int(self.home[router]),) if 0 <= router < len(self.home) else ()

    def predecessors_of(self, number: int) -> list[int]:
        """The routers that became `number`, ascending."""
        return [router for router in range(len(self.home)) if number in self.successors_of(router)]


@dataclass(frozen=True)
class RouterMapChain:
    """Maps one after another."""

    maps: Sequence[RouterMap] = ()

    def map_routers(self, routers: Routers, users: Routers) -> NDArray[np.int64]:
        """As RouterMap.map_routers, through all of them."""
        out = routers.astype(np.int64)
        for one in self.maps:
            out = one.map_routers(out, users)
        return out

    def successors_of(self, router: int) -> tuple[int, ...]:
        """As RouterMap.successors_of, through all of them, ascending."""
        found = {router}
        for one in self.maps:
            found = {after for before in found for after in one.successors_of(before)}
        return tuple(sorted(found))


@dataclass(frozen=True)
class RouterMaps:
    """Every published run since the newest bootstrap, oldest first."""

    maps: Sequence[RouterMap] = ()

    def after(self, sequence: int) -> RouterMapChain:
        """What maps the stored weights of an interaction at `sequence` to the routers of now."""
        return RouterMapChain(drop_undone_runs(one for one in self.maps if one.through >= sequence))

    def between(self, first: int, later: int) -> RouterMapChain:
        """What maps the stored weights of an interaction at `first` to the routers in which one at
        `later` is stored."""
        return RouterMapChain(
            drop_undone_runs(one for one in self.maps if first <= one.through < later)
        )

    def since(self, epoch: int) -> RouterMapChain:
        """What maps a router number of an epoch to those of now."""
        return RouterMapChain(drop_undone_runs(one for one in self.maps if one.from_epoch >= epoch))


def drop_undone_runs(maps: Iterable[RouterMap]) -> list[RouterMap]:
    """Without runs that were undone and the runs that undid them: what was written before both is
    where it was."""
    kept: list[RouterMap] = []
    for one in maps:
        runs = [other.run for other in kept]
        if one.undoes is not None and one.undoes in runs:
            del kept[runs.index(one.undoes) :]
        else:
            kept.append(one)
    return kept
