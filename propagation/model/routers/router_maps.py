"""Maps from older routers to newer ones, for weights already stored.

A map takes (old router, user) to a new router.

An evolution does not rewrite stored weights. Mass, erasure and rounds read the weights through the
maps of all runs that were published since. Only the taste bank evolves: session routers keep their
numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from propagation.model.routers.router_succession import drop_undone_runs

Routers = NDArray[np.integer]


@dataclass(frozen=True)
class Halves:
    """A split of one router.

    Attributes:
        first: Number of the router that is the first half.
        second: Number of the router that is the second half.
        in_second: [U] bool, whether each user (row) goes to the second half. Later users go to the
            larger half.
        share: The first half's share (0 to 1) of the router's start mass.
    """

    first: int
    second: int
    in_second: NDArray[np.bool_]
    larger_is_second: bool
    share: float

    def of(self, users: Routers) -> NDArray[np.int64]:
        """Return the half (router number) of each user (row)."""
        second = np.full(users.shape, self.larger_is_second)
        known = users < len(self.in_second)
        second[known] = self.in_second[users[known]]
        return np.where(second, self.second, self.first)


@dataclass(frozen=True)
class RouterMap:
    """The map of one published run.

    Attributes:
        run: Number of the run.
        through: Sequence of the run's barrier; weights written later need no map.
        from_epoch: The last epoch whose router numbers the map takes.
        to_epoch: The epoch whose router numbers it gives.
        home: [K before] i64 new number of each router; unused for a router that was split.
        routers: K after the run.
        centres: [K before, D] f32 centres of the old routers, for an undo.
        retired: Numbers below K that stand for no router any more.
        halves: Splits, by old router.
        start_shares: By merged router, its share (0 to 1) of the start mass of the router that it
            became; for an undo.
        versions: Newest text version of each changed router before the run; for an undo.
        undoes: The run that this one undoes; None if it is no undo.
    """

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
        """Map routers to the new ones.

        Args:
            routers: Routers [B] or [B,W].
            users: Rows [B] of the users that wrote to these routers.

        Returns:
            The new routers, in the shape of `routers`.
        """
        out: NDArray[np.int64] = self.home[routers]
        wrote = users if routers.ndim == 1 else np.broadcast_to(users[:, None], routers.shape)
        for router, halves in self.halves.items():
            mine = routers == router
            if mine.any():
                out[mine] = halves.of(wrote[mine])
        return out

    def get_successors(self, router: int) -> tuple[int, ...]:
        """Return the routers that a router became; both halves of a split.

        Filter rules, gradients and edges to items follow a router to both halves.
        """
        halves = self.halves.get(router)
        if halves is not None:
            return (halves.first, halves.second)
        return (int(self.home[router]),) if 0 <= router < len(self.home) else ()


@dataclass(frozen=True)
class RouterMapChain:
    """Maps that are applied one after another."""

    maps: Sequence[RouterMap] = ()

    def map_routers(self, routers: Routers, users: Routers) -> NDArray[np.int64]:
        """Map routers as RouterMap.map_routers does, through all maps."""
        out = routers.astype(np.int64)
        for one in self.maps:
            out = one.map_routers(out, users)
        return out

    def get_successors(self, router: int) -> tuple[int, ...]:
        """Return the routers that a router became through all maps, ascending."""
        found = {router}
        for one in self.maps:
            found = {after for before in found for after in one.get_successors(before)}
        return tuple(sorted(found))


@dataclass(frozen=True)
class RouterMaps:
    """The maps of all published runs since the newest bootstrap.

    Attributes:
        maps: Oldest first.
    """

    maps: Sequence[RouterMap] = ()

    def after(self, sequence: int) -> RouterMapChain:
        """Return the maps from an interaction's weights to the current routers."""
        return RouterMapChain(drop_undone_runs(one for one in self.maps if one.through >= sequence))

    def between(self, first: int, later: int) -> RouterMapChain:
        """Return the maps between the routers of two sequences.

        Args:
            first: Sequence at which the weights were stored.
            later: Sequence to whose routers they are mapped.
        """
        return RouterMapChain(
            drop_undone_runs(one for one in self.maps if first <= one.through < later)
        )

    def find_undone(self, undo: RouterMap) -> RouterMap | None:
        """Return the map that an undo undoes, else None."""
        return next((one for one in self.maps if one.run == undo.undoes), None)

    def since(self, epoch: int) -> RouterMapChain:
        """Return the maps from an epoch's router numbers to the current ones."""
        return RouterMapChain(drop_undone_runs(one for one in self.maps if one.from_epoch >= epoch))
