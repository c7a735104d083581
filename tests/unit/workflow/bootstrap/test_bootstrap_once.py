"""Two callers that learn at the same moment open one epoch."""

import asyncio

from propagation.model import ClientChange, ClientKey, ClientKind, NewInteraction
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings

ITEMS, EVENTS = 20, 600
SETTINGS = WorkflowSettings(
    session=BankSettings(k=2),
    taste=BankSettings(k=2),
    table_edges=1,
    bootstrap_items=10,
    auto_create=True,
)


async def test_learning_side_by_side_bootstraps_once(tmp_path):
    engine = build_engine(
        Settings(database=tmp_path / "graph.db", reasoning_in="loop", workflow=SETTINGS)
    )
    await engine.open()
    try:
        await engine.upsert_clients(
            [
                ClientChange(
                    key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"), title=f"Record {n % 7} {n}"
                )
                for n in range(ITEMS)
            ]
        )
        await engine.record(
            [
                NewInteraction(
                    event_id=f"e{n}",
                    user_id="ann",
                    item_id=f"i{n % ITEMS}",
                    time=n,
                    content_hash=str(n),
                )
                for n in range(EVENTS)
            ]
        )
        covered = await asyncio.gather(engine.learn(), engine.learn())
        assert min(covered) > 0, "both had something to learn"
        assert [epoch.number for epoch in await engine.store.get_epochs()] == [1]
    finally:
        await engine.close()
