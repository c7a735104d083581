"""`init` under other settings than the data was made with.

Source: operations.md, "Switching the policy, K, ...".
"""

from contextlib import asynccontextmanager

import pytest

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import (
    ClientChange,
    ClientKey,
    ClientKind,
    IncompatibleSettings,
    IndexUnavailable,
    NewInteraction,
)
from propagation.ports import Collection
from propagation.workflow.compose import compose
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import build_numpy_index, build_sqlite_store
from services.config.settings import Settings

pytestmark = pytest.mark.slow

ITEMS, EVENTS = 20, 300
SETTINGS = WorkflowSettings(
    session=BankSettings(k=2),
    taste=BankSettings(k=2),
    table_edges=1,
    bootstrap_items=10,
    auto_create=True,
)
THREE = SETTINGS.model_copy(update={"taste": BankSettings(k=3)})
FOUR = SETTINGS.model_copy(update={"taste": BankSettings(k=4), "session": BankSettings(k=4)})
SEED = SETTINGS.model_copy(update={"seed": 9})


@asynccontextmanager
async def open_engine(folder, settings, *, adopt=False, embedder=None):
    settings = Settings(database=folder / "graph.db", reasoning_in="loop", workflow=settings)
    store = build_sqlite_store(settings)
    engine = compose(
        store,
        embedder or HashedEmbedder(settings.workflow.seed),
        build_numpy_index(settings, store),
        OfflineReasoner(),
        settings.workflow,
        "me",
    )
    try:
        await engine.open(adopt=adopt)
        yield engine
    finally:
        await engine.close()


async def upsert_catalogue(engine, name="i"):
    await engine.upsert_clients(
        [
            ClientChange(
                key=ClientKey(kind=ClientKind.ITEM, id=f"{name}{n}"), title=f"Record {n % 7} {n}"
            )
            for n in range(ITEMS)
        ]
    )


async def record_history(engine):
    await upsert_catalogue(engine)
    await engine.record(
        [
            NewInteraction(
                event_id=f"e{n}",
                user_id=f"u{n % 9}",
                item_id=f"i{n % ITEMS}",
                time=n,
                content_hash=str(n),
            )
            for n in range(EVENTS)
        ]
    )
    await engine.drain()
    await engine.run_round()


@pytest.mark.parametrize("settings", [THREE, FOUR, SEED], ids=["taste.k", "both", "seed"])
async def test_of_data_that_was_bootstrapped(tmp_path, settings):
    async with open_engine(tmp_path, SETTINGS) as engine:
        await record_history(engine)
        assert engine.numbers.view.epoch == 1
        mass = engine.numbers.view.state.adoptions.sum()
    with pytest.raises(IncompatibleSettings, match="propagation init"):
        async with open_engine(tmp_path, settings):
            pass
    async with open_engine(tmp_path, settings, adopt=True) as engine:
        epoch = await engine.init()
        assert (epoch.number, epoch.taste_k, epoch.session_k) == (
            2,
            settings.taste.k,
            settings.session.k,
        )
    async with open_engine(tmp_path, settings) as engine:
        assert engine.numbers.view.state.taste.centres.shape[0] == settings.taste.k
        assert engine.numbers.view.state.adoptions.sum() == mass
        assert engine.index_maintenance.repaired == 0
        assert not engine.index_maintenance.problem


@pytest.mark.parametrize("policy", ["adoption", "semantic"])
@pytest.mark.parametrize("settings", [THREE, SEED], ids=["taste.k", "seed"])
async def test_of_data_whose_index_is_behind(tmp_path, settings, policy):
    """`init` first describes clients that are learned and not yet described."""
    settings = settings.model_copy(update={"policy": policy})
    async with open_engine(tmp_path, SETTINGS.model_copy(update={"policy": policy})) as engine:
        await record_history(engine)
        await upsert_catalogue(engine, "late")
        assert await engine.learn()
    async with open_engine(tmp_path, settings, adopt=True) as engine:
        await engine.init()
    async with open_engine(tmp_path, settings) as engine:
        assert engine.index_maintenance.repaired == 0
        assert not engine.index_maintenance.problem
        (late,) = await engine.store.find_refs([ClientKey(kind=ClientKind.ITEM, id="late3")])
        assert "Record 3" in str((await engine.store.load_texts([late]))[late].profile.lines)


@pytest.mark.parametrize("bootstrapped", [True, False])
@pytest.mark.parametrize("dimension", [32, 64])
async def test_of_data_of_another_embedder(tmp_path, dimension, bootstrapped):
    settings = SETTINGS if bootstrapped else SETTINGS.model_copy(update={"bootstrap_items": 10_000})

    def make_other_embedder():
        return HashedEmbedder(settings.seed, dimension)

    async with open_engine(tmp_path, settings) as engine:
        await record_history(engine)
        assert engine.numbers.view.epoch == bootstrapped
        mass, learned = (
            engine.numbers.view.state.adoptions.sum(),
            await engine.store.get_learned_through(),
        )
    with pytest.raises(IncompatibleSettings, match="the embedder's dimension was 48"):
        async with open_engine(tmp_path, settings, embedder=make_other_embedder()):
            pass
    async with open_engine(
        tmp_path, settings, adopt=True, embedder=make_other_embedder()
    ) as engine:
        await upsert_catalogue(engine, "while it waits")
        await engine.init()
        await engine.drain()
        assert engine.numbers.view.state.adoptions.sum() == mass
    async with open_engine(tmp_path, settings, embedder=make_other_embedder()) as engine:
        view = engine.numbers.view
        assert (view.state.content.shape[1], view.items, view.applied_through) == (
            dimension,
            2 * ITEMS,
            await read_head(engine),
        )
        assert view.applied_through > learned
        assert view.state.item_profile[: 2 * ITEMS].any(axis=1).all()
        assert engine.index_maintenance.repaired == 0
        assert not engine.index_maintenance.problem


async def read_head(engine):
    return await engine.store.get_recorded_through()


async def test_a_router_says_nothing_of_the_community_that_it_was(tmp_path):
    """A router has no text until the first attribute arrives."""
    async with open_engine(tmp_path, FOUR) as engine:
        await record_history(engine)
        await engine.init()
        before = await engine.store.get_version_numbers(range(4))
        assert len(before) == 4
    many = SETTINGS.model_copy(update={"taste": BankSettings(k=20)})
    async with open_engine(tmp_path, many, adopt=True) as engine:
        epoch = await engine.init()
        versions = await engine.store.get_router_versions(range(20))
        assert 0 < len(versions) < 20
        assert {version.epoch for version in versions} == {epoch.number}
        assert all(version.version == before.get(version.router, 0) + 1 for version in versions)
    async with open_engine(tmp_path, many) as engine:
        assert engine.index_maintenance.repaired == 0


async def test_an_index_that_was_not_made_again_is_written_to_by_nobody(tmp_path, monkeypatch):
    async with open_engine(tmp_path, SETTINGS) as engine:
        await upsert_catalogue(engine)
        with monkeypatch.context() as patched:
            patched.setattr(engine.index_maintenance._index, "rebuild", raise_unavailable)
            with pytest.raises(IndexUnavailable):
                await engine.learn()
        assert (await engine.store.get_current_epoch()).number == 1
        assert engine.index_maintenance.problem
        await upsert_catalogue(engine, "late")
        await engine.drain()
        kept = {
            key
            for collection in (Collection.ITEMS, Collection.USERS)
            for key in await engine.index_maintenance._index.get_versions(collection)
        }
        while await engine.update_index():
            pass
        assert not engine.index_maintenance.problem
        assert (
            len(await engine.index_maintenance._index.get_versions(Collection.ITEMS))
            == 2 * ITEMS
            > len(kept)
        )
    async with open_engine(tmp_path, SETTINGS) as engine:
        assert engine.index_maintenance.repaired == 0


def raise_unavailable(*_):
    raise IndexUnavailable("nobody there")


async def test_a_settings_change_that_was_adopted_and_not_made_changes_nothing(tmp_path):
    async with open_engine(tmp_path, SETTINGS) as engine:
        await record_history(engine)
    async with open_engine(tmp_path, THREE, adopt=True):
        pass
    with pytest.raises(IncompatibleSettings, match=r"taste\.k was 2, now it is 3"):
        async with open_engine(tmp_path, THREE):
            pass
    async with open_engine(tmp_path, SETTINGS) as engine:
        assert engine.index_maintenance.repaired == 0
