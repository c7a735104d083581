"""Written mass can be gathered with stops at any sequence.

Nothing is read twice, and nothing is left out.
"""

import numpy as np
import pytest

from propagation.workflow.evolve.holdout import load_holdout
from propagation.workflow.learn.learned_blocks import WrittenRows, gather
from tests.unit.workflow.evolve.planted_communities import STYLES, make_engine, open_with_history


async def test_gathering_stops_and_goes_on_at_any_sequence(tmp_path):
    engine = make_engine(tmp_path / "graph.db")
    await open_with_history(engine, STYLES[:2], 120)
    try:
        store, through = engine.store, engine.numbers.view.applied_through
        maps, wanted = await store.get_router_maps(), np.array([True, False])
        whole, parts = WrittenRows(), WrittenRows()
        await gather(store, maps, whole, wanted, through)
        for stop in (through - 101, through - 50, through - 49, through):
            await gather(store, maps, parts, wanted, stop)
        for one, other in zip(whole.of(0), parts.of(0), strict=True):
            assert one.tolist() == other.tolist()
        assert whole.totals == pytest.approx(parts.totals)
        assert not len(whole.of(1)[0])
        tail = await load_holdout(store, through, engine.numbers.view.epoch, 50)
        log = (await store.read_log(tail.judged_from, 1_000)).interactions
        assert (len(tail), tail.users.tolist(), tail.items.tolist()) == (
            50,
            log.user.tolist(),
            log.item.tolist(),
        )
        assert len(await load_holdout(store, through, engine.numbers.view.epoch, 10_000)) == 120
        assert len(await load_holdout(store, through, 9, 50)) == 0
    finally:
        await engine.close()
