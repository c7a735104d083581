"""Check of the users' adoptions in the numbers against the log."""

from collections.abc import Sequence

import numpy as np

from propagation.model import I64, Checkpoint, ClientKind, DamagedNumbers, compute_ref
from propagation.ports import GraphStore
from propagation.workflow.learn.checkpoints import apply_patch
from propagation.workflow.learn.learned_blocks import read_blocks

ITEM_BITS = 32
LAST_ITEM = (1 << ITEM_BITS) - 1
MOST_FINDINGS = 5


async def find_wrong_adoptions(store: GraphStore) -> list[str]:
    """Compare the newest checkpoint's adoptions with the log; return faults.

    The checkpoint holds each (user, item) once that the log has up to its sequence. The learned
    blocks are read on the way, all of them. What was learned after the checkpoint is not compared:
    only the log says whose it is.

    Returns:
        A sentence for each fault, at most five of a kind.

    Raises:
        DamagedNumbers: A learned block or the checkpoint is damaged or missing.
    """
    checkpoint = await store.get_newest_checkpoint()
    through = checkpoint.sequence if checkpoint else 0
    stored = _list_stored(checkpoint) if checkpoint else np.empty(0, np.int64)
    del checkpoint  # its arrays are large
    parts = [np.empty(0, np.int64)]
    async for _, group in read_blocks(store, 0):
        for interactions, _ in group:
            known = interactions.sequence <= through
            parts.append(_pack(interactions.user[known], interactions.item[known]))
    recorded = np.unique(np.concatenate(parts))
    return [
        *_describe(
            "user {} chose item {}, which the checkpoint of the numbers lacks",
            np.setdiff1d(recorded, stored, assume_unique=True),
        ),
        *_describe(
            "user {} did not choose item {}, which the checkpoint of the numbers has",
            np.setdiff1d(stored, recorded, assume_unique=True),
        ),
    ]


def _pack(users: I64, items: I64) -> I64:
    return users.astype(np.int64) << ITEM_BITS | items.astype(np.int64)


def _list_stored(checkpoint: Checkpoint) -> I64:
    """Return the packed adoptions of a checkpoint, ascending.

    Raises:
        DamagedNumbers: The checkpoint lacks an array.
    """
    arrays = apply_patch(checkpoint.arrays)
    try:
        return np.unique(_pack(arrays["seen_user"], arrays["seen_item"]))
    except KeyError as lacking:
        raise DamagedNumbers(
            f"the checkpoint of the numbers at sequence {checkpoint.sequence} lacks"
            f" {lacking.args[0]}"
        ) from lacking


def _describe(text: str, packed: I64) -> Sequence[str]:
    return [
        text.format(
            compute_ref(ClientKind.USER, number >> ITEM_BITS),
            compute_ref(ClientKind.ITEM, number & LAST_ITEM),
        )
        for number in packed[:MOST_FINDINGS].tolist()
    ]
