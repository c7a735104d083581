"""Rebuilding the numbers from the log (docs/design.md, "State").

Mass is summed from the weights that each interaction stored. Trust, the combiner and all counts are
computed again from the newest barrier on, never from before it. The result equals the live numbers
bit for bit.
"""

from propagation.model import DamagedNumbers, StoreBusy
from propagation.ports import Embedder, GraphStore
from propagation.workflow.concurrency import LEARN_LEASE, Leases
from propagation.workflow.learn.checkpoints import restore_view, take_checkpoint
from propagation.workflow.learn.item_embedding import apply_clients
from propagation.workflow.learn.learned_blocks import read_blocks
from propagation.workflow.views import NumbersOwner, NumbersView


async def rebuild_view(store: GraphStore, embedder: Embedder, first: NumbersView) -> NumbersView:
    """Rebuild the view from the learned blocks.

    If a block after the newest barrier is damaged, the view ends before that block.

    Args:
        first: The view before anything was learned, for a store without a barrier.

    Raises:
        DamagedNumbers: The newest barrier is damaged, or a block before it.
    """
    barrier = await store.get_newest_checkpoint(barrier=True)
    numbers = NumbersOwner(
        first if barrier is None else restore_view(barrier, first.seed, tuple(first.state.limits))
    )
    start = numbers.view.applied_through
    try:
        async for part, blocks in read_blocks(store, 0):
            if part.through > start:
                await apply_clients(store, numbers, embedder, part)
                for interactions, block in blocks:
                    await numbers.run(NumbersView.relearn, interactions, block)
    except DamagedNumbers as damage:
        if damage.after < start:
            raise
    finally:
        numbers.close()
    return numbers.view


async def rebuild(store: GraphStore, embedder: Embedder, first: NumbersView, leases: Leases) -> int:
    """Rebuild the numbers and save them as the newest checkpoint.

    A running process loads the checkpoint when it reloads or next starts. Blocks from the first
    damaged one on are dropped; their interactions are learned again as if they were new.

    Returns:
        The checkpoint's sequence.

    Raises:
        DamagedNumbers: As in rebuild_view; nothing was changed.
        StoreBusy: Another process learns.
    """
    async with leases.hold(LEARN_LEASE) as lease:
        if lease is None:
            raise StoreBusy("another process is learning; stop it, then rebuild")
        view = await rebuild_view(store, embedder, first)
        await store.drop_learned(lease, view.applied_through)
        await store.save_checkpoint(lease, take_checkpoint(view, barrier=False))
        return view.applied_through
