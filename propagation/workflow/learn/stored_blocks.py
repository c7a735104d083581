"""Learned blocks with their parts of the log, in few reads however small the blocks are."""

from collections.abc import AsyncIterator, Sequence

from propagation.model import Interactions, LearnedBlock, LogSlice
from propagation.ports import GraphStore

BLOCKS_A_READ, SMALL_BLOCKS_A_READ = 16, 256
INTERACTIONS_AT_ONCE = 2_048
Blocks = Sequence[tuple[Interactions, LearnedBlock]]


async def read_blocks(store: GraphStore, after: int) -> AsyncIterator[tuple[LogSlice, Blocks]]:
    """Read every block after a sequence, in groups.

    Events that come one by one are learned in as many blocks, and a start after a kill reads all
    of them since the last checkpoint.

    Yields:
        The first block's part of the log; and blocks of one epoch with their interactions, each of
        which starts where the one before it ends. Only the first block has other entries.
    """
    limit = BLOCKS_A_READ
    while blocks := await store.read_learned(after, limit):
        after, through = blocks[0].after, blocks[-1].through
        log = await store.read_log(after, through - after)
        limit = SMALL_BLOCKS_A_READ if through - after < INTERACTIONS_AT_ONCE else BLOCKS_A_READ
        first, group = log, list[tuple[Interactions, LearnedBlock]]()
        for block in blocks:
            part = log.part(block.after, block.through)
            if group and (
                part.entries
                or not _continues(group[-1][1], block)
                or block.through - group[0][1].after > INTERACTIONS_AT_ONCE
            ):
                yield first, group
                group = []
            if not group:
                first = part
            group.append((part.interactions, block))
        yield first, group
        after = through


def _continues(block: LearnedBlock, following: LearnedBlock) -> bool:
    return (
        following.after == block.through
        and following.epoch == block.epoch
        and len(following.combiner) > 0
    )
