"""`doctor` finds a changed row of the attributes that clients hold, and of their counts.

A wrong count would let an attribute of one user travel.
"""

import pytest

from propagation.model import ClientChange
from services.cli.operator.doctor import _check_store
from tests.neo4j_server.shared import get_server
from tests.unit.workflow.small_database import (
    STORES,
    event,
    make_engine,
    open_engine,
    record_history,
    user_key,
)

LONER = 40
WORD = "wuggawugga"
DAMAGES = {
    "a count of users": (
        "UPDATE attribute SET users = 2 WHERE name = 'wuggawugga'",
        "MATCH (a:Attribute {{name: 'wuggawugga'}}) SET a.users = 2",
        "attribute 'wuggawugga' counts 1 holders, 2 of them users, but 1 clients hold it, 1 of them"
        " users",
    ),
    "a count of holders": (
        "UPDATE attribute SET holders = 0 WHERE name = 'wuggawugga'",
        "MATCH (a:Attribute {{name: 'wuggawugga'}}) SET a.holders = 0",
        "attribute 'wuggawugga' counts 0 holders",
    ),
    "an attribute": (
        "DELETE FROM attribute WHERE name = 'wuggawugga'",
        "MATCH (a:Attribute {{name: 'wuggawugga'}}) DETACH DELETE a",
        "attribute 'wuggawugga', which 1 clients hold, is missing",
    ),
    "all attributes": (
        "DELETE FROM attribute",
        "MATCH (a:Attribute) DETACH DELETE a",
        "attribute 'folk', which",
    ),
    "what an attribute is mapped to": (
        "UPDATE attribute SET canonical = 'jazz' WHERE name = 'wuggawugga'",
        "MATCH (a:Attribute {{name: 'wuggawugga'}}) SET a.canonical = 'jazz'",
        "client {ref} holds the attributes 'wuggawugga', but its text names 'jazz'",
    ),
    "what a client holds": (
        "UPDATE held SET names = '[\"jazz\"]' WHERE ref = {ref}",
        "MATCH (c:Client {{ref: {ref}}}) SET c.holds = ['jazz']",
        "client {ref} holds the attributes 'jazz', but its text names 'wuggawugga'",
    ),
    "that a client holds something": (
        "DELETE FROM held WHERE ref = {ref}",
        "MATCH (c:Client {{ref: {ref}}}) REMOVE c.holds",
        "client {ref} holds the attributes none, but its text names 'wuggawugga'",
    ),
    "what all clients hold, and its counts": (
        "UPDATE attribute SET holders = 0, users = 0; UPDATE held SET names = '[]'",
        "MATCH (a:Attribute) SET a.holders = 0, a.users = 0 WITH count(a) AS n"
        " MATCH (c:Client) SET c.holds = []",
        "client 0 holds the attributes none, but its text names",
    ),
}


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr("services.cli.operator.doctor.PAUSE_SECONDS", 0.0)


@pytest.fixture(params=STORES)
def store(request):
    return request.param


@pytest.fixture
async def engine(tmp_path, store):
    """Yield an engine with one user who alone holds WORD."""
    async with open_engine(make_engine(tmp_path, store)) as engine:
        await engine.upsert_clients([ClientChange(key=user_key(LONER), attributes=(WORD,))])
        await engine.drain()
        await record_history(engine, 1, 60)
        yield engine


async def change_rows(engine, statements):
    def work(connection):
        for statement in statements.split("; "):
            connection.execute(statement)

    await engine.store.database.write(work)


async def list_findings(engine):
    return [one.problem for one in await _check_store(engine.store) if one.problem]


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_changed_row_is_found(engine, store, tmp_path, damage):
    assert await list_findings(engine) == []
    (ref,) = await engine.store.find_refs([user_key(LONER)])
    statements, cypher, sentence = (part.format(ref=ref) for part in damage)
    if store == "sqlite":
        await change_rows(engine, statements)
    else:
        get_server(tmp_path).run(cypher)
    found = await list_findings(engine)
    assert any(one.startswith(sentence) for one in found), found


async def test_texts_that_wait_for_a_round_are_no_finding(engine):
    await engine.record([event(9_000 + n, LONER, n) for n in range(5)])
    await engine.drain()
    assert await list_findings(engine) == []
    await engine.run_round()
    assert await list_findings(engine) == []
