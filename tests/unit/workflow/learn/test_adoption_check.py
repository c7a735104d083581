"""`doctor` finds an interaction that was given to another user or another item.

The numbers learned it when it was as it had been recorded.
"""

import pytest

from propagation.workflow.learn.adoption_check import find_wrong_adoptions
from services.cli.operator.doctor import _check_store
from tests.neo4j_server.shared import get_server
from tests.unit.workflow.small_database import (
    STORES,
    event,
    item_key,
    make_engine,
    open_engine,
    record_history,
    user_key,
)

TAKEN, OTHERS = 5, 60
"""Numbers of a user and of the event that is changed."""


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr("services.cli.operator.doctor.PAUSE_SECONDS", 0.0)


@pytest.fixture(params=STORES)
def store(request):
    return request.param


@pytest.fixture
async def engine(tmp_path, store):
    """Yield an engine whose newest checkpoint covers a history."""
    async with open_engine(make_engine(tmp_path, store)) as engine:
        await record_history(engine, 1, 60)
        await engine.record([event(OTHERS, 50, TAKEN), event(OTHERS + 1, 51, TAKEN)])
        await engine.drain()
        await engine.init()
        yield engine


async def test_an_interaction_of_another_user_or_item_is_found(engine, store, tmp_path):
    assert await list_findings(engine) == []
    user, other = await engine.store.find_refs([user_key(50), user_key(51)])
    item, free = await engine.store.find_refs([item_key(TAKEN), item_key(TAKEN + 1)])
    await change_interaction(engine, store, tmp_path, (user, item), (other, free))
    assert await list_findings(engine) == [
        f"user {other} chose item {free}, which the checkpoint of the numbers lacks",
        f"user {user} did not choose item {item}, which the checkpoint of the numbers has",
    ]


async def change_interaction(engine, store, folder, before, after):
    """Give the only interaction of a user to another user, and another item, in all rows."""
    (user, _), (other, free) = before, after
    if store == "sqlite":

        def work(connection):
            connection.execute("UPDATE reasoned SET user = ? WHERE user = ?", (other, user))
            connection.execute(
                "UPDATE interaction SET user = ?, item = ? WHERE user = ?", (other, free, user)
            )

        await engine.store.database.write(work)
    else:
        get_server(folder).run(
            "MATCH (:Client {ref: $user})-[did:DID]->(i)-[with:WITH]->() DELETE did, with WITH i"
            " MATCH (u:Client {ref: $other}), (x:Client {ref: $free})"
            " CREATE (u)-[:DID]->(i)-[:WITH]->(x) SET i.user = $other, i.item = $free",
            user=user,
            other=other,
            free=free,
        )


async def list_findings(engine):
    return [one.problem for one in await _check_store(engine.store) if one.problem]


async def test_what_is_retracted_forgotten_repeated_or_not_yet_learned_is_no_finding(engine):
    events = await record_history(engine, 2, 60)
    await engine.record([event(9_000 + n, 50, TAKEN) for n in range(3)])
    await engine.drain()
    assert await list_findings(engine) == []
    await engine.retract([event(OTHERS, 50, TAKEN).event_id])
    assert await list_findings(engine) == []
    await engine.retract([one.event_id for one in events[:20]])
    assert await list_findings(engine) == []
    await engine.forget(user_key(3))
    await engine.forget(item_key(4))
    assert await list_findings(engine) == []
    await engine.evolve()
    await engine.record([event(9_100 + n, 50, n) for n in range(9)])
    await engine.drain()
    assert await list_findings(engine) == []
    await engine.init()
    await engine.store.check()
    assert await find_wrong_adoptions(engine.store) == []
