"""Rebuilding the numbers from the log (docs/design.md, "State").

Mass is summed from the weights that each interaction stored. Trust, the combiner and all counts are
computed again from the newest barrier on, never behind it. The result equals the live numbers bit
for bit.
"""

from propagation.model import StoreBusy
from propagation.ports import Embedder, GraphStore
from propagation.workflow.concurrency import LEARN_LEASE, Leases
from propagation.workflow.learn.checkpoints import restore_view, take_checkpoint
from propagation.workflow.learn.item_embedding import apply_clients
from propagation.workflow.learn.learned_blocks import read_blocks
from propagation.workflow.views import NumbersOwner, NumbersView


async def rebuild_view(store: GraphStore, embedder: Embedder, first: NumbersView) -> NumbersView:
    """Rebuild the view at the end of the learned blocks.

    Args:
        first: The view before anything was learned, for a store without a barrier.
    """
    barrier = await store.newest_checkpoint(barrier=True)
    numbers = NumbersOwner(
        first if barrier is None else restore_view(barrier, first.seed, tuple(first.state.limits))
    )
    try:
        async for part, blocks in read_blocks(store, numbers.view.applied_through):
            await apply_clients(store, numbers, embedder, part)
            for interactions, block in blocks:
                await numbers.run(NumbersView.relearn, interactions, block)
        return numbers.view
    finally:
        numbers.close()


async def rebuild(store: GraphStore, embedder: Embedder, first: NumbersView, leases: Leases) -> int:
    """Rebuild the numbers and save them as the newest checkpoint.

    A running process loads it when it next starts.

    Returns:
        Its sequence.

    Raises:
        StoreBusy: Another process learns.
    """
    async with leases.hold(LEARN_LEASE) as lease:
        if lease is None:
            raise StoreBusy("another process is learning; stop it, then rebuild")
        view = await rebuild_view(store, embedder, first)
        await store.save_checkpoint(lease, take_checkpoint(view, barrier=False))
        return view.applied_through
