"""Names of routers over a service's rounds, evolutions and erasures.

They are unique at any time, the same everywhere, and keep no forgotten words.
"""

import pytest

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import ClientChange, EvolutionKind, RouterDecision
from propagation.ports import SummarizeAnswer, Summary
from propagation.workflow.settings import BankSettings
from tests.unit.workflow.small_database import (
    STORES,
    event,
    item_key,
    make_engine,
    open_engine,
    record_history,
    user_key,
)

MANY = {"taste": BankSettings(k=12), "table_edges": 3, "holdout": 10, "evolve_support": 2}
SECRET = "zither duels"


async def summarize(_, routers):
    """Give every router the same name, as a model might."""
    return SummarizeAnswer([Summary("Night owls", "A text of jazz.") for _ in routers])


async def decide_router(_, case):
    """Split the router if possible, else rewrite it."""
    kind = EvolutionKind.SPLIT if case.halves else EvolutionKind.REWRITE
    return RouterDecision(kind, "told to", (("Night owls", "A text."),) * (2 if case.halves else 1))


async def read_names(engine):
    versions = await engine.store.get_router_versions(engine.vectors.routers)
    return {version.router: version.name for version in versions}


@pytest.mark.parametrize("store", STORES)
async def test_no_two_routers_are_called_alike_after_rounds_evolutions_and_undos(
    tmp_path, store, monkeypatch
):
    async with open_engine(make_engine(tmp_path, store, **MANY)) as engine:
        for seed in range(1, 4):
            await record_history(engine, seed, 60)
            found = await read_names(engine)
            assert len(found) > 4
            assert len(set(found.values())) == len(found)
            await engine.evolve()
            found = await read_names(engine)
            assert len(set(found.values())) == len(found)
        for method in (summarize, decide_router):
            monkeypatch.setattr(OfflineReasoner, method.__name__, method)
        await record_history(engine, 4, 60)
        run = await engine.evolve()
        found = await read_names(engine)
        assert sum("owls" in name for name in found.values()) > 4
        assert len(set(found.values())) == len(found)
        if run.published:
            await engine.evolve(undo=run.run)
            found = await read_names(engine)
            assert len(set(found.values())) == len(found)


async def test_two_services_with_the_same_events_call_their_routers_the_same(tmp_path):
    found = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        folder.mkdir()
        async with open_engine(make_engine(folder, **MANY)) as engine:
            await record_history(engine, 1, 60)
        again = make_engine(folder, **MANY)
        await again.open()
        await record_history(again, 2, 60)
        found.append(await read_names(again))
        await again.close()
    assert found[0] == found[1]


@pytest.mark.parametrize("store", STORES)
async def test_a_forgotten_attribute_leaves_the_names_of_all_versions(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store, **MANY)) as engine:
        await engine.upsert_clients([ClientChange(key=item_key(40), attributes=(SECRET, "jazz"))])
        await engine.drain()
        await record_history(engine, 1, 60)
        chosen = [event(9_000 + n, user, 40) for n, user in enumerate((20, 20, 21, 21, 20, 21))]
        for one in chosen:
            await engine.record([one])
            await engine.drain()
            await engine.run_round()

        async def read_all_names():
            found = []
            for router in engine.vectors.routers:
                version = 1
                while (one := await engine.store.get_router_version(router, version)) is not None:
                    found.append(one.name)
                    version += 1
            return found

        assert any(SECRET in name for name in await read_all_names())
        for user in (20, 21):
            await engine.forget(user_key(user))
        assert not any(SECRET in name for name in await read_all_names())
        found = await read_names(engine)
        assert all(found.values())
        assert len(set(found.values())) == len(found)
