"""`init` under other settings than the data was made with (operations.md, "Switching the policy, K, ...")."""

from contextlib import asynccontextmanager

import pytest

from propagation.model.client import ClientChange, ClientKey, ClientKind
from propagation.model.errors import IncompatibleSettings
from propagation.model.interaction import NewInteraction
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import engine_of
from services.settings import Settings

ITEMS, EVENTS = 20, 300
SETTINGS = WorkflowSettings(session=BankSettings(k=2), taste=BankSettings(k=2), table_edges=1, bootstrap_items=10, auto_create=True)
THREE = SETTINGS.model_copy(update={"taste": BankSettings(k=3)})
FOUR = SETTINGS.model_copy(update={"taste": BankSettings(k=4), "session": BankSettings(k=4)})
SEED = SETTINGS.model_copy(update={"seed": 9})


@asynccontextmanager
async def opened(folder, settings, *, adopt=False):
    engine = engine_of(Settings(database=folder / "graph.db", reasoning_in="loop", workflow=settings))
    try:
        await engine.open(adopt=adopt)
        yield engine
    finally:
        await engine.close()


async def catalogue(engine, name="i"):
    await engine.upsert_clients([ClientChange(key=ClientKey(kind=ClientKind.ITEM, id=f"{name}{n}"), title=f"Record {n % 7} {n}")
                                 for n in range(ITEMS)])


async def lived(engine):
    await catalogue(engine)
    await engine.record([NewInteraction(event_id=f"e{n}", user_id=f"u{n % 9}", item_id=f"i{n % ITEMS}", time=n, content_hash=str(n))
                         for n in range(EVENTS)])
    await engine.drain()
    await engine.run_round()


@pytest.mark.parametrize("settings", [THREE, FOUR, SEED], ids=["taste.k", "both", "seed"])
async def test_of_data_that_was_bootstrapped(tmp_path, settings):
    async with opened(tmp_path, SETTINGS) as engine:
        await lived(engine)
        assert engine.numbers.view.epoch == 1
        mass = engine.numbers.view.state.adoptions.sum()
    with pytest.raises(IncompatibleSettings, match="propagation init"):
        async with opened(tmp_path, settings):
            pass
    async with opened(tmp_path, settings, adopt=True) as engine:
        epoch = await engine.init()
        assert (epoch.number, epoch.taste_k, epoch.session_k) == (2, settings.taste.k, settings.session.k)
    async with opened(tmp_path, settings) as engine:
        assert engine.numbers.view.state.taste.centres.shape[0] == settings.taste.k
        assert engine.numbers.view.state.adoptions.sum() == mass
        assert engine.upkeep.mended == 0
        assert not engine.upkeep.problem


@pytest.mark.parametrize("settings", [THREE, SEED], ids=["taste.k", "seed"])
async def test_of_data_whose_index_is_behind(tmp_path, settings):
    """Clients that were learned and not described yet: `init` describes them first."""
    async with opened(tmp_path, SETTINGS) as engine:
        await lived(engine)
        await catalogue(engine, "late")
        assert await engine.learn()
    async with opened(tmp_path, settings, adopt=True) as engine:
        await engine.init()
    async with opened(tmp_path, settings) as engine:
        assert engine.upkeep.mended == 0
        assert not engine.upkeep.problem
        assert await engine.store.find_refs([ClientKey(kind=ClientKind.ITEM, id="late3")]) != [None]


async def test_a_settings_change_that_was_adopted_and_not_made_changes_nothing(tmp_path):
    async with opened(tmp_path, SETTINGS) as engine:
        await lived(engine)
    async with opened(tmp_path, THREE, adopt=True):
        pass
    with pytest.raises(IncompatibleSettings, match=r"taste\.k was 2, now it is 3"):
        async with opened(tmp_path, THREE):
            pass
    async with opened(tmp_path, SETTINGS) as engine:
        assert engine.upkeep.mended == 0
