"""Learned blocks with their parts of the log.

A process that starts applies the blocks to its numbers, in few reads however small they are. An
evolution gathers the weights that the blocks' interactions wrote to taste routers, through the
router maps.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from propagation.model import (
    F64,
    I64,
    Array,
    Bools,
    DamagedNumbers,
    Interactions,
    LearnedBlock,
    LogSlice,
    RouterMapChain,
    RouterMaps,
)
from propagation.ports import GraphStore

TASTE = 1
WRITTEN_ROW = np.dtype(
    [("user", np.int32), ("item", np.int32), ("router", np.int16), ("weight", np.float32)]
)
BLOCKS_A_READ, SMALL_BLOCKS_A_READ = 16, 256
INTERACTIONS_AT_ONCE = 2_048
Blocks = Sequence[tuple[Interactions, LearnedBlock]]


async def read_blocks(store: GraphStore, after: int) -> AsyncIterator[tuple[LogSlice, Blocks]]:
    """Read every block after a sequence, in groups.

    Groups save reads: an event that comes alone is learned in a block of its own, and a start after
    a kill reads all blocks since the last checkpoint.

    Yields:
        The first block's part of the log, and the group's blocks with their interactions. The
        blocks are of one epoch, and each starts where the one before it ends. Only the first
        block's part has entries that are no interactions.

    Raises:
        DamagedNumbers: A block is damaged or missing.
    """
    limit, reached = BLOCKS_A_READ, after
    while blocks := await store.read_learned(reached, limit):
        after, through = blocks[0].after, blocks[-1].through
        log = await store.read_log(after, through - after)
        limit = SMALL_BLOCKS_A_READ if through - after < INTERACTIONS_AT_ONCE else BLOCKS_A_READ
        first, group = log, list[tuple[Interactions, LearnedBlock]]()
        for block in blocks:
            if block.after > reached:
                raise DamagedNumbers(
                    f"learned blocks are missing: none covers sequences {reached + 1} to"
                    f" {block.after}",
                    reached,
                    block.after,
                )
            reached = block.through
            part = log.part(block.after, block.through)
            if group and (
                part.entries
                or not can_follow(block, group[-1][1].epoch, group[-1][1].through)
                or block.through - group[0][1].after > INTERACTIONS_AT_ONCE
            ):
                yield first, group
                group = []
            if not group:
                first = part
            group.append((part.interactions, block))
        yield first, group


def can_follow(block: LearnedBlock, epoch: int, through: int) -> bool:
    """Tell whether numbers of an epoch can follow this block next.

    The block must be of that epoch, start at `through`, where the numbers stand, and still have its
    combiner and trust: a barrier removes these from the blocks before it.
    """
    return len(block.combiner) > 0 and block.epoch == epoch and block.after == through


@dataclass(frozen=True)
class AlignedBlock:
    """A learned block, and the log's interactions for its rows.

    Interactions that were withdrawn from the log are left out.

    Attributes:
        rows: The block's rows [n] that the other attributes describe.
        users, items: Rows [n] of the users and of the positive items.
        weights: Weights [n] of the events.
    """

    block: LearnedBlock
    rows: I64
    users: I64
    items: I64
    weights: F64


@dataclass
class WrittenRows:
    """Weights that interactions wrote to selected taste routers.

    Attributes:
        rows: Arrays of WRITTEN_ROW, one for each block, with the selected routers only.
        totals: Sums of the weights of all routers [K].
        pairs: Rows of users and items of all interactions, whichever routers they wrote to.
        through: The sequence up to which weights were gathered.
    """

    rows: list[Array] = field(default_factory=list)
    totals: F64 = field(default_factory=lambda: np.zeros(0))
    pairs: list[tuple[I64, I64]] = field(default_factory=list)
    through: int = 0

    def add(self, part: AlignedBlock, chain: RouterMapChain, selected: Bools) -> None:
        """Add a block's weights.

        Args:
            part: The block.
            chain: The router maps that were made after the block.
            selected: Routers [K] whose rows are kept; totals are kept for all.
        """
        weights = part.block.weights[part.rows, TASTE]
        routers = chain.map_routers(part.block.routers[part.rows, TASTE], part.users)
        if not len(self.totals):
            self.totals = np.zeros(len(selected))
        self.pairs.append((part.users, part.items))
        self.totals += np.bincount(routers.ravel(), weights.ravel(), len(selected))[: len(selected)]
        row, place = np.nonzero(selected[routers] & (weights > 0))
        self.rows.append(
            np.rec.fromarrays(
                [part.users[row], part.items[row], routers[row, place], weights[row, place]],
                WRITTEN_ROW,
            )
        )

    def of(self, router: int) -> tuple[I64, I64, F64]:
        """Return the users, items and weights of one router, in log order."""
        found = np.concatenate(
            [np.empty(0, WRITTEN_ROW), *(rows[rows["router"] == router] for rows in self.rows)]
        )
        return (
            found["user"].astype(np.int64),
            found["item"].astype(np.int64),
            found["weight"].astype(np.float64),
        )


def sum_by_place(places: I64, weights: F64, size: int) -> F64:
    """Return the sum of weights by place, [size]."""
    return np.bincount(places, weights, size).astype(np.float64, copy=False)


async def read_aligned_blocks(
    store: GraphStore, after: int, through: int
) -> AsyncIterator[AlignedBlock]:
    """Yield the learned blocks of interactions with after < sequence <= through."""
    read = after
    while read < through and (blocks := await store.read_learned(read, BLOCKS_A_READ)):
        for block in blocks:
            if block.after >= through:
                return
            read = block.through
            log = (await store.read_log(block.after, block.through - block.after)).interactions
            asked = (block.sequence > after) & (block.sequence <= through)
            rows = np.flatnonzero(asked & np.isin(block.sequence, log.sequence))
            places = np.searchsorted(log.sequence, block.sequence[rows])
            yield AlignedBlock(block, rows, log.user[places], log.item[places], log.weight[places])


async def gather(
    store: GraphStore,
    maps: RouterMaps,
    into: WrittenRows,
    selected: Bools,
    through: int,
) -> None:
    """Add to `into` the weights written after `into.through`, up to `through`.

    Args:
        selected: Routers [K] whose rows are kept.
    """
    async for part in read_aligned_blocks(store, into.through, through):
        into.add(part, maps.after(part.block.through), selected)
    into.through = through
