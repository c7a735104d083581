"""The check of the stored data takes nothing for missing that was deleted in order.

What it finds of damages is tested in each adapter's own folder, `tests/contract/sqlite` and so
on."""

from propagation.model import EntryKind, Withdrawal
from tests.contract.graph_store import checkpoint, withdraw
from tests.contract.inside_cases import ANN, fill_store


async def test_what_retention_and_an_erasure_delete_is_not_missing(store):
    await fill_store(store)
    assert await store.prune(await store.get_recorded_through(), 100) is not None
    while await store.prune(await store.get_recorded_through(), 100) is not None:
        pass
    assert await store.check() == []
    lease = await store.acquire_lease("learn", "test", 10_000)
    rows = await store.get_interactions_of_clients([ANN])
    await withdraw(
        store,
        lease,
        Withdrawal(
            kind=EntryKind.ERASURE,
            refs=(ANN,),
            interactions=rows,
            erased=ANN,
            texts_read_through=await store.get_texts_through(),
        ),
        checkpoint(await store.get_learned_through(), barrier=True),
    )
    assert await store.get_text_versions() == {}
    assert await store.check() == []
