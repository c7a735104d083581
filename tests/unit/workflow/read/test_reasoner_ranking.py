"""The reasoner as a ranker, beside other calls."""

import pytest

from propagation.workflow.read.recommend import Recommendations, Recommended
from tests.unit.workflow.small_database import item_key, make_engine, open_engine, user_key


@pytest.mark.parametrize("key", [item_key(1), user_key(0)], ids=["item", "user"])
async def test_the_numbers_order_stays_if_a_client_is_erased_meanwhile(tmp_path, monkeypatch, key):
    async with open_engine(make_engine(tmp_path)) as engine:
        last_withdrawal = engine.store.get_last_withdrawal

        async def erase_first():
            monkeypatch.undo()
            await engine.forget(key)
            return await last_withdrawal()

        items = [Recommended(item_key(n).id, "", 1.0) for n in range(3)]
        by_numbers = Recommendations(items, engine.applied_through, cold=True, unknown=())
        monkeypatch.setattr(engine.store, "get_last_withdrawal", erase_first)
        assert await engine.rerank(user_key(0).id, by_numbers, None) is by_numbers
