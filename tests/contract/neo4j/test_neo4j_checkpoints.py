"""Small arrays of a checkpoint share a commit: an erasure writes one."""

import numpy as np
import pytest

from tests.contract.graph_store import MAKERS, TurnedClock, checkpoint

pytestmark = pytest.mark.neo4j
ARRAYS = 60


async def test_small_arrays_are_written_in_one_commit(tmp_path):
    store = MAKERS["neo4j"](tmp_path, TurnedClock())
    await store.open()
    try:
        lease = await store.acquire_lease("learn", "test", 10_000)
        many = checkpoint(3)
        many.arrays.clear()
        many.arrays.update({f"array {n}": np.full(n, n) for n in range(ARRAYS)})
        before = store.database.sent
        await store.stage_checkpoint(lease, many)
        assert store.database.sent - before < ARRAYS / 4
    finally:
        await store.close()
